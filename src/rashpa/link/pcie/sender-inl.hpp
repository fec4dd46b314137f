// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The function bodies of SenderWith, for files with an engine of their own.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/pcie/sender.hpp"

namespace rashpa::link::pcie {

inline constexpr std::uint64_t kMostAtOnce = 4U << 20;  // bytes that one call gives the engine
inline constexpr int kSenderSpins = 200;  // looks for credits before the thread sleeps: a few microseconds
// Between two looks at an engine that works beside this thread: nothing wakes a thread that waits for it.
inline constexpr auto kEngineNap = std::chrono::microseconds(20);

template <typename EngineType>
SenderWith<EngineType>::SenderWith(const SenderConfig& config, EngineType engine)
    : config_(checked(config)),
      line_bytes_(config.memory->line_bytes()),
      record_bytes_(config.memory->region().size()),
      shared_(&config.memory->dtp(config.destination.qpn)),
      thread_(&config.memory->thread_of(config.destination.qpn)),
      engine_(std::move(engine)),
      credits_(config.slots, counters_.credits_refused) {}

constexpr bool lies_inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t all) noexcept {
  return offset <= all && bytes <= all - offset;
}

template <typename EngineType>
bool SenderWith<EngineType>::inside(const BufferDescriptor& write) const noexcept {
  return lies_inside(write.destination, write.bytes, line_bytes_);
}

// The receiver must see whose slot is written: this is out before the first store into it, also where later stores may
// pass the one of an exchange (AArch64).
template <typename EngineType>
void SenderWith<EngineType>::begin(std::uint64_t index) {
  begun_ = true;
  image_ = index;
  shared_->begun.exchange(index + 1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

template <typename EngineType>
bool SenderWith<EngineType>::given_up() noexcept {
  given_up_ = given_up_ || image_ < shared_->closed.load(std::memory_order_acquire);
  return given_up_;
}

template <typename EngineType>
std::size_t SenderWith<EngineType>::post(std::span<const BufferDescriptor> writes) {
  if (!begun_) begin(credits_.announced());
  if (given_up()) {
    done_ += writes.size();
    return writes.size();
  }
  std::size_t taken = 0;
  std::uint64_t bytes = 0;
  while (taken < writes.size()) {
    if (!inside(writes[taken])) {
      counters_.send_errors.add(1);
      withhold_ = true;
      ++done_;
      ++taken;
      continue;
    }
    // As many as lie inside, up to the limit of a call.
    const std::uint64_t before = bytes;
    std::size_t end = taken;
    do {
      if (bytes != 0 && bytes + writes[end].bytes > kMostAtOnce) break;
      bytes += writes[end].bytes;
      ++end;
    } while (end < writes.size() && inside(writes[end]));
    if (end == taken) break;
    const std::size_t copied = engine_.copy(writes.subspan(taken, end - taken));
    const bool all = copied == end - taken && copied != 0;
    if (all) {
      counters_.payload_bytes.add(bytes - before);
    } else {
      for (const BufferDescriptor& write : writes.subspan(taken, copied)) counters_.payload_bytes.add(write.bytes);
    }
    taken += copied;
    if (!all || (taken < writes.size() && inside(writes[taken]))) break;
  }
  counters_.messages.add(taken);
  if (taken < writes.size()) counters_.waits.add(1);
  return taken;
}

template <typename EngineType>
bool SenderWith<EngineType>::post_event(const Event& event) {
  const bool refused = withhold_ || !lies_inside(event.destination, FrameRecord::kBytes, record_bytes_);
  const bool withheld = refused || given_up_;
  if (!withheld && !engine_.announce(event, shared_->lock)) {
    counters_.waits.add(1);
    return false;
  }
  withhold_ = begun_ = given_up_ = false;
  credits_.announce(event.immediate);
  if (withheld) {
    engine_.drop_image();
    if (refused) counters_.send_errors.add(1);
    return true;
  }
  done_ += collect();
  counters_.messages.add(1);
  counters_.payload_bytes.add(FrameRecord::kBytes);
  return true;
}

// Writes that became done. The receiver is woken when there is something to see, not when it was asked for.
template <typename EngineType>
std::size_t SenderWith<EngineType>::collect() noexcept {
  const Progress progress = engine_.take_done();
  if (progress.announced != 0) thread_->receiver.wake();
  if (progress.lost != 0) counters_.send_errors.add(progress.lost);
  return progress.writes;
}

template <typename EngineType>
std::uint64_t SenderWith<EngineType>::granted() const noexcept {
  // Nothing is sent any more: its caller shall come to its end.
  if (config_.flow == Flow::paced || engine_.failed()) return kUnlimited;
  told_ = shared_->granted.load(std::memory_order_acquire);
  return credits_.granted(told_);
}

template <typename EngineType>
void SenderWith<EngineType>::wait_for_credit(std::uint32_t wait_us) noexcept {
  const auto news = [this] { return shared_->granted.load(std::memory_order_seq_cst) != told_; };
  const std::int64_t until = now_ns() + std::int64_t{wait_us} * 1000;
  for (int spins = 0; !news(); ++spins) {
    const std::int64_t left = until - now_ns();
    if (left <= 0) return;
    if (config_.poll == Poll::spin || spins < kSenderSpins) {
      pause_spinning();
    } else {
      constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(100);
      shared_->source.sleep_unless(news, std::min(std::chrono::nanoseconds(left), kLongest));
    }
  }
}

template <typename EngineType>
std::size_t SenderWith<EngineType>::poll(std::uint32_t wait_us) {
  const std::size_t done = std::exchange(done_, 0) + collect();
  if (done != 0 || wait_us == 0) return done;
  if (engine_.pending() != 0) return wait_for_engine(wait_us);
  if (config_.flow != Flow::credits || engine_.failed()) return 0;
  wait_for_credit(wait_us);
  return collect();
}

template <typename EngineType>
std::size_t SenderWith<EngineType>::wait_for_engine(std::uint32_t wait_us) noexcept {
  const std::int64_t until = now_ns() + std::int64_t{wait_us} * 1000;
  const std::size_t before = engine_.pending();
  for (int spins = 0;; ++spins) {
    const std::size_t done = collect();
    const bool granted = config_.flow == Flow::credits && shared_->granted.load(std::memory_order_acquire) != told_;
    if (done != 0 || granted || engine_.pending() < before || now_ns() >= until) return done;
    if (config_.poll == Poll::spin || spins < kSenderSpins) {
      pause_spinning();
    } else {
      std::this_thread::sleep_for(kEngineNap);
    }
  }
}

template <typename EngineType>
Counts SenderWith<EngineType>::stats() const {
  Counts counts;
  counters_.add_to(counts);
  counts.add("packets", counters_.messages.get());  // there are none: each message counts as one
  return counts;
}

}  // namespace rashpa::link::pcie
