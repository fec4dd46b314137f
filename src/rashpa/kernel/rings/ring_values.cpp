// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/rings/ring_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rashpa::kernel {

namespace {

constexpr std::uint32_t kSortNext = 15;  // images behind one that could not be counted: the next are often like it
constexpr std::size_t kLargePart = 8;    // of the pixels that may be large
constexpr std::size_t kLargeRoom = 1 << 14;

}  // namespace

RingValues::RingValues(const Rings& rings, std::size_t width)
    : rings_(&rings),
      width_(width),
      counts_(std::size_t{rings.count()} * kBins),
      found_(rings.ring_of().size() / kLargePart + kLargeRoom),
      first_(std::size_t{rings.count()} + 1),
      large_(found_.size()),
      band_(Rings::kBand),
      sorted_(rings.ring_of().size()) {
  for (std::uint32_t ring = 0; ring < rings.count(); ++ring) {
    countable_ &= rings.first()[ring + 1] - rings.first()[ring] <= std::numeric_limits<std::uint16_t>::max();
  }
}

void RingValues::take(const void* image, PixelFormat format) noexcept {
  counted_ = false;
  if (countable_ && format.type != PixelType::f32) {
    if (sort_next_ == 0) {
      counted_ = count(image, format);
      if (!counted_) sort_next_ = kSortNext;
    } else {
      sort_next_ -= 1;
    }
  }
  if (!counted_) sort_by_ring(image, format, *rings_, band_.data(), sorted_.data());
}

bool RingValues::count(const void* image, PixelFormat format) noexcept {
  zero_ = photon_range(format).least < 0 ? kNegative : 0;
  std::fill(counts_.begin(), counts_.end(), std::uint16_t{0});
  const std::size_t large = count_values(image, format, *rings_, width_, zero_, counts_.data(), found_);
  if (large == found_.size()) return false;
  settle(image, format, large);
  return true;
}

/// Counts the zeros, which are the rest of each ring, and sorts large values by ring.
void RingValues::settle(const void* image, PixelFormat format, std::size_t large) noexcept {
  first_[0] = 0;
  for (std::uint32_t ring = 0; ring < rings_->count(); ++ring) {
    std::uint16_t* const bins = counts_.data() + std::size_t{ring} * kBins;
    std::uint32_t others = 0;
    for (std::uint32_t bin = 0; bin < kBins; ++bin) others += bins[bin];
    bins[zero_] = static_cast<std::uint16_t>(rings_->first()[ring + 1] - rings_->first()[ring] - others);
    first_[ring + 1] = first_[ring] + bins[kLargeBin];
  }
  for (std::size_t i = 0; i < large; ++i) {
    large_[first_[rings_->ring_of()[found_[i]]]++] = pixel_value(image, format, found_[i]);
  }
  std::copy_backward(first_.begin(), first_.end() - 1, first_.end());  // each stands where the next one begins
  first_[0] = 0;
}

RingSums RingValues::sums(std::uint32_t ring, float low, float high) const noexcept {
  if (!counted_) {
    const std::uint32_t first = rings_->first()[ring];
    return ring_sums(sorted_.data() + first, rings_->first()[ring + 1] - first, low, high);
  }
  if (!(low < high)) return {};
  const auto zero = static_cast<float>(zero_);
  constexpr auto kEnd = static_cast<float>(kLargeBin);
  const float first = std::clamp(std::floor(low) + 1 + zero, 0.0F, kEnd);
  const float last = std::clamp(std::ceil(high) + zero, first, kEnd);
  RingSums found = counted_sums(counts_.data() + std::size_t{ring} * kBins, static_cast<std::uint32_t>(first),
                                static_cast<std::uint32_t>(last), zero_);
  for (std::uint32_t i = first_[ring]; i < first_[ring + 1]; ++i) {
    if (!(large_[i] > low && large_[i] < high)) continue;
    found.sum += double{large_[i]};
    found.squares += double{large_[i]} * double{large_[i]};
    found.count += 1;
  }
  return found;
}

}  // namespace rashpa::kernel
