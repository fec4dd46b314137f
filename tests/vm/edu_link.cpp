// SPDX-License-Identifier: Apache-2.0
#include "edu_link.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::vm {

namespace {

constexpr std::uint64_t kHugePage = 2U << 20;
constexpr std::uint64_t kIndexMask = 0xFFFFFFU;

}  // namespace

EduSender::EduSender(EduEngine& engine, EduChannel& channel, Window frames, Window region)
    : engine_(engine),
      channel_(channel),
      frames_(frames),
      region_(region),
      staging_(4096, memory::MemoryKind::pageable),
      staging_mapping_(engine.device().map({staging_.data(), staging_.size()}, memory::DmaAccess::read)) {}

// Loads as many writes as are contiguous at the source with one transfer, then stores each where it belongs.
std::size_t EduSender::post(std::span<const link::BufferDescriptor> writes) {
  if (writes.empty()) return 0;
  std::size_t count = 1;
  std::uint32_t bytes = writes[0].bytes;
  while (count < writes.size() && writes[count].source == writes[0].source + bytes &&
         bytes + writes[count].bytes <= EduEngine::kLargest) {
    bytes += writes[count++].bytes;
  }
  const auto lock = engine_.lock();
  engine_.load(frames_.to_device(writes[0].source), bytes);
  std::uint32_t at = 0;
  for (const link::BufferDescriptor& write : writes.first(count)) {
    store(at, write.destination, write.bytes);
    at += write.bytes;
  }
  done_ += count;
  return count;
}

bool EduSender::post_event(const link::Event& event) {
  std::memcpy(staging_.data(), event.record, FrameRecord::kBytes);
  std::memcpy(staging_.data() + FrameRecord::kBytes, &event.immediate, sizeof event.immediate);
  const auto lock = engine_.lock();
  engine_.load(staging_mapping_->device_address(), FrameRecord::kBytes + sizeof event.immediate);
  store(0, event.destination, FrameRecord::kBytes);
  store(FrameRecord::kBytes, channel_.event_offset, sizeof event.immediate);
  return true;
}

void EduSender::store(std::uint32_t at, std::uint64_t offset, std::uint32_t bytes) {
  engine_.store(at, region_.device_address + offset, bytes);
  if (offset / kHugePage != (offset + bytes - 1) / kHugePage) ++crossings_;
  ++messages_;
  bytes_ += bytes;
}

std::size_t EduSender::poll(std::uint32_t wait_us) {
  if (done_ == 0 && wait_us != 0)
    std::this_thread::sleep_for(std::chrono::microseconds(wait_us));  // wait: as long as is asked
  return std::exchange(done_, 0);
}

link::Counts EduSender::stats() const {
  link::Counts counts;
  counts.add("messages", messages_);
  counts.add("packets", messages_);
  counts.add("payload_bytes", bytes_);
  return counts;
}

EduReceiver::EduReceiver(std::span<std::byte> region, std::vector<link::ReceiverDtp> dtps,
                         std::vector<EduChannel*> channels, link::ArrivalQueues& queues, Doorbell& bell)
    : region_(region),
      dtps_(std::move(dtps)),
      channels_(std::move(channels)),
      polled_(dtps_.size()),
      queues_(queues),
      bell_(bell) {
  for (std::size_t d = 0; d < dtps_.size(); ++d) {
    std::memcpy(region_.data() + channels_[d]->event_offset, &kNoEvent, sizeof kNoEvent);
    channels_[d]->granted = dtps_[d].placement.slots;
  }
}

void EduReceiver::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void EduReceiver::release(std::uint32_t dtp, std::uint64_t end) noexcept {
  channels_[dtp]->granted = end + dtps_[dtp].placement.slots;
}

void EduReceiver::close(std::uint32_t dtp, std::uint64_t end) noexcept { polled_[dtp].closed = end; }

void EduReceiver::run(const std::stop_token& stop) noexcept {
  while (!stop.stop_requested()) {
    bool news = false;
    for (std::uint32_t dtp = 0; dtp < dtps_.size(); ++dtp) {
      PolledDtp& lane = polled_[dtp];
      const std::uint64_t events = announced(dtp);
      const std::uint64_t end = std::min(std::max(events, lane.closed.load()), dtps_[dtp].images);
      for (; lane.next < end && queues_[dtp].ready(); ++lane.next) {
        queues_[dtp].push(judge(dtp, lane.next, lane.next < events));
        news = true;
      }
    }
    if (news) bell_.ring();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // wait: between two looks of a receiver that polls
  }
}

// Images whose event has come: the device writes events in order, so that the last word tells of all before it.
std::uint64_t EduReceiver::announced(std::uint32_t dtp) const noexcept {
  const auto* word = reinterpret_cast<std::uint32_t*>(region_.data() + channels_[dtp]->event_offset);
  const std::uint32_t value = std::atomic_ref(*const_cast<std::uint32_t*>(word)).load(std::memory_order_acquire);
  if (value == kNoEvent || value >> 24 != dtps_[dtp].id) return 0;
  return (value & kIndexMask) + 1;
}

link::Arrival EduReceiver::judge(std::uint32_t dtp, std::uint64_t index, bool event) noexcept {
  const Placement& placement = dtps_[dtp].placement;
  link::Arrival arrival{.dtp = dtp, .index = index, .last_packet_ns = now_ns()};
  arrival.loss = link::Loss::deadline;
  arrival.lines_missing = placement.lines;
  if (!event) return arrival;
  ++events_;
  const auto record = decode_frame_record(region_.subspan(placement.record_offset(index), FrameRecord::kBytes));
  if (!record || record->index != index || record->dtp != dtps_[dtp].id || record->run != dtps_[dtp].run) {
    ++bad_records_;
    arrival.loss = link::Loss::event;
    return arrival;
  }
  arrival.record = *record;
  std::uint32_t crc = 0;
  for (std::uint32_t line = 0; line < placement.lines; ++line) {
    crc = crc32c(region_.subspan(placement.image_offset(index) + line * placement.pitch, placement.line_bytes), crc);
  }
  const bool intact = crc == record->payload_crc32c && record->payload_bytes == placement.payload_bytes();
  if (!intact) ++crc_mismatches_;
  arrival.completeness = intact ? Completeness::complete : Completeness::partial;
  arrival.loss = intact ? link::Loss::none : link::Loss::corrupt;
  arrival.proof = intact ? link::Proof::crc : link::Proof::none;
  if (intact) arrival.lines_missing = 0;
  return arrival;
}

std::vector<link::Endpoint> EduReceiver::endpoints() const {
  return std::vector<link::Endpoint>(dtps_.size(), {.address = "edu"});
}

link::Counts EduReceiver::stats() const {
  link::Counts counts;
  counts.add("events", events_);
  counts.add("bad_records", bad_records_);
  counts.add("crc_mismatches", crc_mismatches_);
  return counts;
}

}  // namespace rashpa::vm
