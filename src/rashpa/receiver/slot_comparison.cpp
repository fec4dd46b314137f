// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/slot_comparison.hpp"

#include <algorithm>
#include <atomic>

namespace rashpa::receiver {

namespace {

// Fewer bytes are compared before another thread is awake.
constexpr std::uint64_t kAlone = std::uint64_t{1} << 20U;

// Whether a unit has read the slot: a sink reads images that were accepted unread, and compares. A compared copy is not
// asked about again.
bool was_read(const StackImage& image) noexcept {
  if (image.proved) return false;
  if (image.decision == Decision::vetoed) return true;
  return image.decision == Decision::accepted && (image.measured || !image.lies_in_slot());
}

}  // namespace

SlotComparison::SlotComparison(std::uint32_t stack, std::size_t dtps, unsigned threads) : changed_(stack) {
  parts_.reserve(stack * dtps);
  if (threads > 1) team_ = std::make_unique<memory::Team>(threads - 1, -1, "compare");
}

std::span<const std::uint8_t> SlotComparison::changed(const Stack& stack) noexcept {
  std::fill(changed_.begin(), changed_.end(), std::uint8_t{0});
  parts_.clear();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < stack.count; ++i) {
    const StackImage& image = stack.images[i];
    if (!was_read(image)) continue;
    for (const PayloadSum& sum : image.sums) {
      if (!sum.compared) continue;
      parts_.push_back({image.raw, &sum, &changed_[i]});
      bytes += std::uint64_t{sum.line_bytes} * sum.lines;
    }
  }
  const std::span<const std::uint8_t> all(changed_.data(), stack.count);
  if (team_ == nullptr || parts_.size() < 2 || bytes < kAlone) {
    for (const Part& part : parts_) compare(part);
    return all;
  }
  team_->run(static_cast<std::uint32_t>(parts_.size()),
             [this](unsigned /*worker*/, std::uint32_t task) noexcept { compare(parts_[task]); });
  return all;
}

void SlotComparison::compare(const Part& part) noexcept {
  // relaxed: a thread of the team writes, the caller reads behind the team's end
  if (!still_agree({part.sum, 1}, part.pixels)) std::atomic_ref(*part.changed).store(1, std::memory_order_relaxed);
}

}  // namespace rashpa::receiver
