// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sources and a receiver of link verbs over the stand-in RNIC, with known pixels.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "rashpa/core/frame/part_record.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/testing/rnic/exported_images.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/link/verbs/offer_sender.hpp"
#include "rashpa/link/verbs/receiver.hpp"
#include "rashpa/link/verbs/sender.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::testing::rnic {

/// How sources and receiver use the RNIC.
struct BenchWays {
  verbs::Paging paging = verbs::Paging::pinned;
  verbs::Operation operation = verbs::Operation::write;
  bool readable = true;  ///< false: frames are registered as for operation write
};

/// `device`: lines lie in ExportedImages, or in memory of a real device (`elsewhere`, lines_end() bytes); else they are
/// in one block of host memory with the records.
class VerbsBench {
 public:
  static constexpr std::uint32_t kLines = 8, kLineBytes = 512, kSlots = 4;
  static constexpr std::uint32_t kSent = 16;  // images of source memory, sent in turn
  static constexpr std::size_t lines_end(std::uint32_t dtps) {
    return std::size_t{kSlots} * kLines * kLineBytes * dtps;
  }

  /// Bytes of the block of lines with the last words behind them.
  static constexpr std::size_t words_end(std::uint32_t dtps) { return lines_end(dtps) + dtps * kWordDistance; }

  /// Words::written: last words lie behind the lines, with transport rc; Words::missing: as if sources were old.
  enum class Words : std::uint8_t { none, written, missing };
  VerbsBench(Transport transport, bool device, std::uint32_t dtps, std::uint64_t images,
             std::optional<Verify> verify = {}, const memory::DmaBlock& elsewhere = {}, Words words = Words::none,
             const BenchWays& ways = {}, std::uint32_t event_lines = 0)
      : frames_(std::size_t{kSent} * dtps * kLines * kLineBytes, memory::MemoryKind::pageable) {
    wire::testing::fill(frames_.bytes(), 7);
    const std::uint64_t slots_bytes = std::uint64_t{kSlots} * kLines * kLineBytes;
    const std::uint64_t lines_end = slots_bytes * dtps;
    const Placement form{.slots = kSlots, .lines = kLines, .event_lines = event_lines};
    const std::uint64_t records = dtps * form.records_bytes();
    if (device && elsewhere.data == nullptr) images_ = std::make_unique<ExportedImages>(words_end(dtps));
    host_ = memory::Buffer(device ? records : lines_end + records + dtps * kWordDistance, memory::MemoryKind::pageable);
    lines_ = images_  ? images_->block()
             : device ? elsewhere
                      : memory::DmaBlock{.data = host_.data(), .bytes = host_.size()};
    for (std::uint32_t d = 0; d < dtps; ++d) {
      ReceiverDtp dtp = small_dtp(d + 1, images, kLines, kLineBytes, kSlots, 0, d * slots_bytes);
      dtp.placement.event_lines = event_lines;
      dtp.placement.records_offset = (device ? 0 : lines_end) + d * form.records_bytes();
      dtps_.push_back(dtp);
    }
    queues_ = ArrivalQueues(dtps, 64);
    verbs::ReceiverConfig config{.address = "127.0.0.1", .poll = Poll::event};
    config.options.transport = transport;
    config.options.paging = ways.paging;
    config.options.operation = ways.operation;
    config.options.verify = verify.value_or(device ? Verify::off : Verify::all);
    ReceiverMemory memory = device ? ReceiverMemory(lines_, host_.bytes()) : ReceiverMemory(host_.bytes());
    if (words != Words::none) memory.words = device ? lines_end : lines_end + records;
    if (images_ && memory.words) {
      std::memset(images_->block().data + lines_end, 0xFF, dtps * kWordDistance);  // as a receiver clears them
    }
    receiver_ = std::make_unique<verbs::VerbsReceiver>(config, memory, dtps_, queues_, bell_);
    base_ = receiver_->base();
    base_of_records_ = receiver_->base_of_records();
    verbs::Options of_frames = config.options;
    if (!ways.readable) of_frames.operation = verbs::Operation::write;
    const memory::DmaBlock sent{.data = frames_.data(), .bytes = frames_.size()};
    const verbs::SourceMemory source = verbs::register_sources("", "127.0.0.1", {&sent, 1}, of_frames);
    std::vector<Endpoint> ends;
    const bool offered = ways.operation == verbs::Operation::read;
    for (std::uint32_t d = 0; d < dtps; ++d) {
      verbs::SenderConfig each{};
      each.memory = source;
      each.destination = receiver_->endpoints()[d];
      if (words == Words::missing) each.destination.word_offset = 0;
      each.options = config.options;
      each.options.window_bytes = 0;
      each.dtp = dtps_[d].id;
      each.slots = kSlots;
      each.events = dtps_[d].placement.parts();
      if (offered) {
        senders_.push_back(std::make_unique<verbs::OfferSender>(each));
      } else {
        senders_.push_back(std::make_unique<verbs::VerbsSender>(each));
      }
      ends.push_back(senders_.back()->endpoint());
    }
    receiver_->connect(ends);
  }

  void start() { receiver_->start(); }
  [[nodiscard]] verbs::VerbsReceiver& receiver() { return *receiver_; }
  void end_receiver() { receiver_.reset(); }
  [[nodiscard]] Sender& sender(std::uint32_t dtp) { return *senders_[dtp]; }
  [[nodiscard]] ExportedImages* images() const { return images_.get(); }
  [[nodiscard]] const std::vector<ReceiverDtp>& dtps() const { return dtps_; }
  [[nodiscard]] ArrivalQueues& queues() { return queues_; }
  [[nodiscard]] Doorbell& bell() { return bell_; }
  [[nodiscard]] const memory::Buffer& host() const { return host_; }
  [[nodiscard]] std::byte* lines() const { return lines_.data; }
  [[nodiscard]] std::uint64_t line_bytes_of_region() const { return lines_.bytes; }
  [[nodiscard]] const std::byte* line(std::uint32_t dtp, std::uint64_t index, std::uint32_t number) const {
    return frames_.data() + ((index % kSent * dtps_.size() + dtp) * kLines + number) * kLineBytes;
  }

  /// Waits until the image is granted; returns false after a minute.
  bool granted(std::uint32_t dtp, std::uint64_t index) {
    const Patience late;
    while (senders_[dtp]->granted() <= index && !late()) senders_[dtp]->poll(500);
    return !late();
  }
  /// Sends the image when it is granted, and its record; returns false after a minute.
  bool send(std::uint32_t dtp, std::uint64_t index) {
    const Patience late;
    Sender& sender = *senders_[dtp];
    const Placement& p = dtps_[dtp].placement;
    if (!granted(dtp, index)) return false;
    std::uint32_t crc = 0;
    std::uint32_t own = 0;  // of the part
    for (std::uint32_t n = 0, part = 0; n < kLines && !late(); ++n) {
      crc = crc32c({line(dtp, index, n), kLineBytes}, crc);
      own = crc32c({line(dtp, index, n), kLineBytes}, own);
      const BufferDescriptor write{line(dtp, index, n), base_ + p.image_offset(index) + n * p.pitch, kLineBytes};
      while (!(loses_line && loses_line(index, n)) && sender.post({&write, 1}) == 0 && !late()) sender.poll(500);
      if (n + 1 != p.part_end(part) || part + 1 == p.parts()) continue;
      if (!(loses_part && loses_part(index, part)) && !send_part(dtp, index, part, own)) return false;
      ++part;
      own = 0;
    }
    FrameRecord record;
    record.dtp = dtps_[dtp].id;
    record.frame_number = dtps_[dtp].slice.frame(index);
    record.index = index;
    record.slot = static_cast<std::uint32_t>(index % p.slots);
    record.lines = p.lines;
    record.payload_bytes = p.payload_bytes();
    record.payload_crc32c = crc;
    record.run = dtps_[dtp].run;
    record.user[0] = p.parts() > 1 ? own : 0;
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    const Event event{bytes.data(), base_of_records_ + p.record_offset(index),
                      immediate_of(dtps_[dtp].id, p.event_of(index))};
    while (!sender.post_event(event) && !late()) sender.poll(500);
    sender.poll(0);
    return !late();
  }
  /// Sends the event of a part that is not the last one; `crc` is of its lines.
  bool send_part(std::uint32_t dtp, std::uint64_t index, std::uint32_t part, std::uint32_t crc) {
    const Patience late;
    const Placement& p = dtps_[dtp].placement;
    FrameRecord record;
    record.dtp = dtps_[dtp].id;
    record.flags = kPartFlag;
    record.frame_number = dtps_[dtp].slice.frame(index);
    record.index = index;
    record.slot = static_cast<std::uint32_t>(index % p.slots);
    record.lines = p.part_end(part);
    record.payload_bytes = std::uint64_t{record.lines} * p.line_bytes;
    record.payload_crc32c = crc;
    record.run = dtps_[dtp].run;
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    const Event event{bytes.data(), base_of_records_ + p.part_offset(index, part),
                      immediate_of(dtps_[dtp].id, p.event_of(index, part))};
    while (!senders_[dtp]->post_event(event) && !late()) senders_[dtp]->poll(500);
    return !late();
  }
  std::function<bool(std::uint64_t index, std::uint32_t line)> loses_line;  ///< as a network does
  std::function<bool(std::uint64_t index, std::uint32_t part)> loses_part;  ///< the event of a part
  /// Returns the next arrival; nothing after 20 s.
  std::optional<Arrival> next() {
    Arrival arrival;
    const std::int64_t end = now_ns() + 20'000'000'000;
    while (now_ns() < end) {
      const auto seen = bell_.count();
      if (queues_.try_pop(arrival)) return arrival;
      bell_.wait(seen, std::chrono::milliseconds(5));
    }
    return {};
  }
  /// Returns true when the image's slot has its pixels, as a program on the device reads them.
  [[nodiscard]] bool holds(std::uint32_t dtp, std::uint64_t index) const {
    const Placement& p = dtps_[dtp].placement;
    for (std::uint32_t n = 0; n < kLines; ++n) {
      if (std::memcmp(lines_.data + p.image_offset(index) + n * p.pitch, line(dtp, index, n), kLineBytes) != 0)
        return false;
    }
    return true;
  }

 private:
  memory::Buffer frames_;
  std::unique_ptr<ExportedImages> images_;
  memory::Buffer host_;
  memory::DmaBlock lines_;
  std::vector<ReceiverDtp> dtps_;
  ArrivalQueues queues_{1, 16};
  Doorbell bell_;
  std::unique_ptr<verbs::VerbsReceiver> receiver_;
  std::uint64_t base_ = 0;
  std::uint64_t base_of_records_ = 0;
  std::vector<std::unique_ptr<Sender>> senders_;
};

}  // namespace rashpa::link::testing::rnic
