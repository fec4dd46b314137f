// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/gather/gather.hpp"

#include <algorithm>

namespace rashpa::memory {

bool Gather::add(const GatherRun& run) noexcept {
  if (runs_ == list_.size()) submit();
  if (runs_ == 0 && begun_ - ended_ >= lists_) {
    look();
    if (begun_ - ended_ >= lists_) return false;
  }
  if (failed_) return false;
  list_[runs_++] = run;
  return true;
}

void Gather::submit() noexcept {
  if (runs_ == 0) return;
  engine_->start(static_cast<std::uint32_t>(begun_ % lists_), runs_);
  ++begun_;
  runs_ = 0;
  list_ = engine_->list(static_cast<std::uint32_t>(begun_ % lists_));
}

void Gather::look() noexcept {
  if (ended_ == begun_) return;
  ended_ = engine_->ended();
  failed_ = engine_->failed();
}

PacketPool::PacketPool(Gather& gather, std::size_t buffer_bytes) noexcept
    : gather_(&gather),
      memory_(gather.pool()),
      buffer_bytes_(buffer_bytes),
      until_(std::max<std::size_t>(memory_.size() / buffer_bytes, 1)) {}

std::size_t PacketPool::free(std::size_t most) noexcept {
  for (; batch_ > 0; --batch_) until_[(head_ - batch_) % until_.size()] = gather_->latest();
  while (tail_ != head_ && gather_->ended(until_[tail_ % until_.size()])) ++tail_;
  if (!gather_->has_lists()) return 0;
  return std::min<std::size_t>(most, until_.size() - (head_ - tail_));
}

void PacketPool::take(std::size_t count) noexcept {
  head_ += count;
  batch_ = count;
}

}  // namespace rashpa::memory
