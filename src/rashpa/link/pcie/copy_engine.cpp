// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/copy_engine.hpp"

#include <algorithm>
#include <utility>

#include "rashpa/core/time/clock.hpp"

namespace rashpa::link::pcie {

bool Rectangle::take(const BufferDescriptor& write) noexcept {
  if (rows == 0) {
    *this = {.source = write.source, .destination = write.destination, .width = write.bytes, .rows = 1};
    return true;
  }
  if (write.bytes != width) return false;
  // A run that lies before the others is one very far behind them.
  const auto from = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(write.source) -
                                               reinterpret_cast<std::uintptr_t>(source));
  const std::uint64_t to = write.destination - destination;
  if (rows == 1) {
    if (from < width || from > kLongestStride || to < width || to > kLongestStride) return false;
    source_stride = from;
    destination_stride = to;
  } else if (from != source_stride * rows || to != destination_stride * rows) {
    return false;
  }
  ++rows;
  return true;
}

std::size_t Rectangle::take_next(std::span<const BufferDescriptor> writes, std::uint64_t most_bytes) noexcept {
  if (rows < 2 || width == 0 || bytes() >= most_bytes) return 0;
  const std::byte* from = source + rows * source_stride;
  std::uint64_t to = destination + rows * destination_stride;
  const std::size_t most = std::min<std::uint64_t>(writes.size(), (most_bytes - bytes()) / width);
  std::size_t taken = 0;
  while (taken < most && writes[taken].source == from && writes[taken].destination == to &&
         writes[taken].bytes == width) {
    from += source_stride;
    to += destination_stride;
    ++taken;
  }
  rows += static_cast<std::uint32_t>(taken);
  return taken;
}

std::size_t CopyEngine::copy(std::span<const BufferDescriptor> writes) noexcept {
  asked_ = false;
  std::size_t taken = failed_ ? 0 : open_.take_next(writes, kLargestCopy);
  open_writes_ += taken;
  pending_ += taken;
  for (const BufferDescriptor& write : writes.subspan(taken)) {
    if (!failed_) {
      const bool fits = open_.rows == 0 || open_.bytes() + write.bytes <= kLargestCopy;
      if (!fits || !open_.take(write)) {
        if (!flush()) break;
        if (!failed_) open_.take(write);
      }
    }
    ++taken;
    if (failed_) {
      ++progress_.writes;
      ++progress_.lost;
      continue;
    }
    ++open_writes_;
    ++pending_;
  }
  return taken;
}

bool CopyEngine::announce(const Event& event, std::atomic<std::uint32_t>& lock) noexcept {
  asked_ = false;
  if (!failed_) {
    if (!room(3)) return false;
    flush();
  }
  if (failed_) {
    ++progress_.lost;
    return true;
  }
  ++pending_;
  mark(&event, &lock);
  return true;
}

Progress CopyEngine::take_done() noexcept {
  if (!failed_) {
    hear();
    if (asked_ && flush() && unmarked_.writes != 0 && room(1)) mark(nullptr, nullptr);
    if (!failed_ && !device_->go_on(asked_ ? Company::none : Company::may_come)) fail();
    asked_ = true;
    look_after();
  }
  return std::exchange(progress_, {});
}

// Returns true when there is room for a number of further copies.
bool CopyEngine::room(std::size_t copies) noexcept {
  const auto there = [&] { return copies_ + copies <= kMostCopies && given_ - heard_ + 2 <= kBatches; };
  if (!there()) hear();
  return there();
}

// False: no room; the rectangle stays open.
bool CopyEngine::flush() noexcept {
  if (failed_ || open_.rows == 0) return true;
  if (!room(2)) return false;
  ++copies_;
  ++unmarked_.copies;
  unmarked_.writes += std::exchange(open_writes_, 0);
  const bool taken = device_->copy(open_);
  open_ = {};
  if (!taken) {
    fail();
  } else if (unmarked_.copies >= kCopiesPerNumber) {
    mark(nullptr, nullptr);
  }
  return true;
}

void CopyEngine::mark(const Event* event, std::atomic<std::uint32_t>* lock) noexcept {
  ++copies_;
  ++unmarked_.copies;
  unmarked_.events = event == nullptr ? 0 : 1;
  if (given_ == heard_) news_ns_ = now_ns();
  batches_[given_++ % kBatches] = std::exchange(unmarked_, {});
  if (!device_->mark(given_, event, lock)) fail();
}

void CopyEngine::hear() noexcept {
  const std::uint64_t reached = std::min(device_->reached(), given_);
  if (reached <= heard_) return;
  for (; heard_ != reached; ++heard_) {
    const Batch& batch = batches_[heard_ % kBatches];
    copies_ -= batch.copies;
    pending_ -= batch.writes + batch.events;
    progress_.writes += batch.writes;
    progress_.announced += batch.events;
  }
  news_ns_ = now_ns();
  // Sequentially consistent: the engine's lock words are published before this thread reads the receivers' flags.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Whether what is on its way will ever come, when it has been quiet for a while.
void CopyEngine::look_after() noexcept {
  if (given_ == heard_ || ++looks_ % kLooksPerClock != 0) return;
  const std::int64_t now = now_ns();
  if (now - news_ns_ < kLookNs) return;
  news_ns_ = now;
  if (!device_->sound()) fail();
}

void CopyEngine::fail() noexcept {
  failed_ = true;
  std::size_t events = unmarked_.events;
  for (; heard_ != given_; ++heard_) events += batches_[heard_ % kBatches].events;
  progress_.writes += pending_ - events;
  progress_.lost += pending_;
  pending_ = copies_ = open_writes_ = 0;
  open_ = {};
  unmarked_ = {};
}

}  // namespace rashpa::link::pcie
