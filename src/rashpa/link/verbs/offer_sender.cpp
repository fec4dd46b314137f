// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/offer_sender.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::link::verbs {

namespace {

constexpr std::size_t kOfferedRecords = 64;  // events in flight
constexpr std::size_t kOffers = 16;          // offers in flight, and the one that is being filled
constexpr std::size_t kOfferedRecordsOffset = 4096;
constexpr std::size_t kOffersOffset = kOfferedRecordsOffset + kOfferedRecords * FrameRecord::kBytes;
constexpr std::uint32_t kLongestRun = 1U << 20;
constexpr std::uint64_t kOffer = 1;  // wr_id
constexpr std::uint64_t kEvent = 2;
constexpr std::int64_t kOfferNapUs = 20;

SenderConfig checked_offer(const SenderConfig& config) {
  check(config.options, config.flow);
  return config;
}

}  // namespace

OfferSender::OfferSender(const SenderConfig& config)
    : config_(checked_offer(config)),
      device_(config.memory.device),
      own_memory_(kOffersOffset + kOffers * kOfferBytes, memory::MemoryKind::pageable),
      own_(
          device_->register_first(std::array{memory::DmaBlock{.data = own_memory_.data(), .bytes = own_memory_.size()}},
                                  memory::DmaAccess::write)),
      completions_(device_, kOfferedRecords + kOffers, CompletionQueue::Channel::none),
      pair_(device_, completions_,
            {.transport = config.options.transport,
             .pmtu = config.options.pmtu,
             .send_depth = kOfferedRecords + kOffers,
             .receive_depth = 1,
             .inline_bytes = 0,
             .reads = kReadsInFlight}),
      largest_message_(std::min(kLongestRun, device_->largest_message())) {
  pair_.connect(config.destination);
}

const Registration* OfferSender::block_of(const BufferDescriptor& write) const noexcept {
  const auto holds = [&](const auto& block) { return block->contains(write.source, write.bytes); };
  const auto found = std::find_if(config_.memory.blocks.begin(), config_.memory.blocks.end(), holds);
  return found == config_.memory.blocks.end() ? nullptr : found->get();
}

std::byte* OfferSender::offer(std::uint64_t number) const noexcept {
  return own_memory_.data() + kOffersOffset + number % kOffers * kOfferBytes;
}

// Returns false where the queue is full. A request that is refused for good breaks the connection off.
bool OfferSender::send(ibv_send_wr& request, ibv_sge piece) noexcept {
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  const int code = pair_.post_send(request, refused);
  if (code == ENOMEM) return false;
  if (code != 0) {
    counters_.send_errors.add(1);
    break_off();
  }
  return true;
}

void OfferSender::break_off() noexcept {
  broken_ = true;
  done_ += runs_ - read_;  // nobody reads them any more
  read_ = runs_;
  open_ = 0;
}

bool OfferSender::offer_open_runs() noexcept {
  if (open_ == 0) return true;
  ibv_send_wr request{};
  request.wr_id = kOffer;
  request.opcode = IBV_WR_SEND;
  const std::byte* at = offer(offers_posted_);
  if (!send(request, {own_->address_of(at), open_ * std::uint32_t{sizeof(OfferedRun)}, own_->lkey()})) return false;
  open_ = 0;
  if (!broken_) {
    ++offers_posted_;
    counters_.packets.add(1);
  }
  return true;
}

std::size_t OfferSender::post(std::span<const BufferDescriptor> writes) {
  std::size_t taken = 0;
  for (; taken < writes.size(); ++taken) {
    const BufferDescriptor& write = writes[taken];
    const Registration* block = block_of(write);
    if (broken_ || block == nullptr) {  // lost, as if on the wire
      counters_.send_errors.add(1);
      ++done_;
      continue;
    }
    if (open_ == kRunsOfOffer && !offer_open_runs()) break;
    if (open_ == 0 && offers_posted_ - offers_completed_ == kOffers) reap();
    if (offers_posted_ - offers_completed_ == kOffers) break;
    const OfferedRun run{block->address_of(write.source), write.destination, write.bytes, block->rkey()};
    std::memcpy(offer(offers_posted_) + open_ * sizeof run, &run, sizeof run);
    ++open_;
    ++runs_;
    counters_.messages.add(1);
    counters_.payload_bytes.add(write.bytes);
  }
  if (taken < writes.size()) counters_.waits.add(1);
  return taken;
}

bool OfferSender::post_event(const Event& event) {
  if (events_posted_ - events_completed_ == kOfferedRecords) reap();
  if (events_posted_ - events_completed_ == kOfferedRecords || !offer_open_runs()) {
    counters_.waits.add(1);
    return false;
  }
  credits_.announce(event.immediate);
  if (broken_) {
    counters_.send_errors.add(1);
    return true;
  }
  std::byte* record =
      own_memory_.data() + kOfferedRecordsOffset + events_posted_ % kOfferedRecords * FrameRecord::kBytes;
  std::memcpy(record, event.record, FrameRecord::kBytes);
  ibv_send_wr request{};
  request.wr_id = kEvent;
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.imm_data = __builtin_bswap32(event.immediate);
  request.wr.rdma.remote_addr = event.destination;
  request.wr.rdma.rkey = config_.destination.key_of_records();
  if (!send(request, {own_->address_of(record), FrameRecord::kBytes, own_->lkey()})) {
    counters_.waits.add(1);
    return false;
  }
  if (broken_) return true;
  ++events_posted_;
  counters_.messages.add(1);
  counters_.packets.add(1);
  counters_.payload_bytes.add(FrameRecord::kBytes);
  return true;
}

void OfferSender::reap() noexcept {
  std::array<ibv_wc, 32> completions;  // NOLINT: filled by the device
  int count = 0;
  do {
    count = completions_.poll(completions);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      ++(completions[i].wr_id == kOffer ? offers_completed_ : events_completed_);
      if (completions[i].status == IBV_WC_SUCCESS) continue;
      counters_.send_errors.add(1);
      break_off();
    }
  } while (count == static_cast<int>(completions.size()));
  // Another process writes the word: it counts for no more than was offered.
  const std::uint64_t read = std::min(word(1), runs_);
  if (read <= read_) return;
  done_ += read - read_;
  read_ = read;
}

std::size_t OfferSender::poll(std::uint32_t wait_us) {
  if (!broken_) offer_open_runs();  // the caller may wait for them
  const std::uint64_t credits = word(0);
  reap();
  const std::int64_t until = now_ns() + std::int64_t{wait_us} * 1000;
  // Credits are words in memory that no interrupt announces: a nap, or a spin, between looks.
  while (done_ == 0 && word(0) == credits && now_ns() < until) {
    if (config_.poll == Poll::spin) {
      pause_spinning();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(kOfferNapUs));
    }
    reap();
  }
  return std::exchange(done_, 0);
}

std::size_t OfferSender::pending() const noexcept {
  if (broken_) return 0;
  return offers_posted_ - offers_completed_ + events_posted_ - events_completed_ + runs_ - read_;
}

std::uint64_t OfferSender::granted() const noexcept { return credits_.granted(word(0)); }

Endpoint OfferSender::endpoint() const {
  constexpr std::uint16_t kRocePort = 4791;
  return {device_->address(), kRocePort, pair_.number(), own_->rkey(), own_->device_address(), 0, pair_.first_psn()};
}

Counts OfferSender::stats() const {
  Counts counts;
  counters_.add_to(counts);
  return counts;
}

}  // namespace rashpa::link::verbs
