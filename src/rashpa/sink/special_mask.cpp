// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/special_mask.hpp"

#include <algorithm>
#include <utility>

namespace rashpa::sink {

SpecialMask::SpecialMask(PixelType type, std::vector<SpecialValue> special, std::size_t pixels)
    : type_(type), special_(std::move(special)) {
  const bool lasting =
      std::any_of(special_.begin(), special_.end(), [](const auto& one) { return mask_bit(one.meaning) != 0; });
  if (lasting) bits_.resize(pixels);
  found_.store(!lasting, std::memory_order_relaxed);
}

void SpecialMask::find(const Stack& stack) noexcept {
  for (const StackImage& image : stack.view()) {
    if (image.completeness != Completeness::complete || image.raw == nullptr) continue;
    std::fill(bits_.begin(), bits_.end(), 0U);
    mark_special(type_, special_, image.raw, bits_);
    if (!stack.slot_intact(image, image.raw)) continue;  // it was written over meanwhile
    found_.store(true, std::memory_order_release);
    return;
  }
}

}  // namespace rashpa::sink
