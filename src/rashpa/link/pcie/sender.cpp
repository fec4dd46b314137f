#include "rashpa/link/pcie/sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/pause.hpp"
#include "rashpa/link/stream_copy.hpp"

namespace rashpa::link::pcie {

namespace {

constexpr std::uint64_t kMostAtOnce =
    4U << 20;                // bytes that one call copies, so that its caller sees a request to stop
constexpr int kSpins = 200;  // looks for credits before the thread sleeps: a few microseconds

SenderConfig checked(const SenderConfig& config) {
  if (config.memory == nullptr || !config.memory->is(config.destination) ||
      config.destination.qpn >= config.memory->dtps()) {
    throw ConfigError(fmt::format("pcie: {} has no DTP number {} under this key; configure both sides anew",
                                  config.destination.address, config.destination.qpn));
  }
  return config;
}

}  // namespace

PcieSender::PcieSender(const SenderConfig& config)
    : config_(checked(config)),
      region_(config.memory->region()),
      shared_(&config.memory->dtp(config.destination.qpn)),
      thread_(&config.memory->thread_of(config.destination.qpn)) {}

bool PcieSender::inside(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  return offset <= region_.size() && bytes <= region_.size() - offset;
}

// Without credits the receiver must see whose slot is written. An exchange: it is out before the streaming stores.
void PcieSender::begin() noexcept {
  begun_ = true;
  if (config_.flow == Flow::paced) shared_->begun.exchange(announced_ + 1, std::memory_order_seq_cst);
}

std::size_t PcieSender::post(std::span<const BufferDescriptor> writes) {
  if (!begun_) begin();
  std::size_t taken = 0;
  std::uint64_t copied = 0;
  for (const BufferDescriptor& write : writes) {
    if (copied != 0 && copied + write.bytes > kMostAtOnce) break;
    if (inside(write.destination, write.bytes)) {
      crc_ = stream_copy_crc32c(region_.data() + write.destination, {write.source, write.bytes}, crc_);
      counters_.payload_bytes.add(write.bytes);
    } else {
      counters_.send_errors.add(1);
      withhold_ = true;
    }
    copied += write.bytes;
    ++taken;
  }
  counters_.messages.add(taken);
  counters_.packets.add(taken);
  done_ += taken;
  if (taken < writes.size()) counters_.waits.add(1);
  return taken;
}

bool PcieSender::post_event(const Event& event) {
  constexpr std::uint32_t kIndexMask = 0xFFFFFF;
  crc_ = 0;
  begun_ = false;
  announced_ += (event.immediate - (announced_ - 1)) & kIndexMask;
  if (std::exchange(withhold_, false) || !inside(event.destination, FrameRecord::kBytes)) {
    counters_.send_errors.add(1);
    return true;
  }
  std::memcpy(region_.data() + event.destination, event.record, FrameRecord::kBytes);
  stream_fence();
  // An exchange, since the receiver's flag must not be read before the word is out; it also releases the record.
  shared_->lock.exchange(event.immediate, std::memory_order_seq_cst);
  thread_->receiver.wake();
  counters_.messages.add(1);
  counters_.packets.add(1);
  counters_.payload_bytes.add(FrameRecord::kBytes);
  return true;
}

std::uint64_t PcieSender::granted() const noexcept {
  if (config_.flow == Flow::paced) return kUnlimited;
  return told_ = shared_->granted.load(std::memory_order_acquire);
}

void PcieSender::wait_for_credit(std::uint32_t wait_us) noexcept {
  const auto news = [this] { return shared_->granted.load(std::memory_order_seq_cst) != told_; };
  const std::int64_t until = now_ns() + std::int64_t{wait_us} * 1000;
  for (int spins = 0; !news(); ++spins) {
    const std::int64_t left = until - now_ns();
    if (left <= 0) return;
    if (config_.poll == Poll::spin || spins < kSpins) {
      pause_spinning();
    } else {
      constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(100);
      shared_->source.sleep_unless(news, std::min(std::chrono::nanoseconds(left), kLongest));
    }
  }
}

std::size_t PcieSender::poll(std::uint32_t wait_us) {
  if (done_ == 0 && wait_us != 0 && config_.flow == Flow::credits) wait_for_credit(wait_us);
  return std::exchange(done_, 0);
}

Counts PcieSender::stats() const {
  Counts counts;
  counters_.add_to(counts);
  return counts;
}

}  // namespace rashpa::link::pcie
