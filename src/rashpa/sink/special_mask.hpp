// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/special_value.hpp"

namespace rashpa::sink {

/// Describes which pixels of a buffer are gaps, dead, noisy, as the detector's special values say: found once, in the
/// first complete image. All memory is taken in the constructor.
class SpecialMask {
 public:
  SpecialMask(PixelType type, std::vector<SpecialValue> special, std::size_t pixels);

  /// Examines a stack with held slots, until one image has given the mask. One thread.
  void look(const Stack& stack) noexcept {
    if (!found_.load(std::memory_order_relaxed)) find(stack);
  }
  /// Bits of NXmx pixel_mask, one value a pixel; empty before an image has given it. Any thread.
  [[nodiscard]] std::span<const std::uint32_t> bits() const noexcept {
    return found_.load(std::memory_order_acquire) ? std::span<const std::uint32_t>(bits_)
                                                  : std::span<const std::uint32_t>();
  }

 private:
  void find(const Stack& stack) noexcept;

  PixelType type_;
  std::vector<SpecialValue> special_;
  std::vector<std::uint32_t> bits_;
  std::atomic<bool> found_{false};  // release by the thread that finds the mask, acquire by others that read its bits
};

}  // namespace rashpa::sink
