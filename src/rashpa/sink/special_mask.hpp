// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/special_value.hpp"

namespace rashpa::sink {

/// The mask of a buffer's pixels that are gaps, dead or noisy, by the detector's special values. It is derived once,
/// from the first complete image. The constructor takes all memory.
class SpecialMask {
 public:
  SpecialMask(PixelType type, std::vector<SpecialValue> special, std::size_t pixels);

  /// Examines a stack with held slots, until an image has given the mask. One thread.
  void look(const Stack& stack) noexcept {
    if (!found_.load(std::memory_order_relaxed)) find(stack);
  }
  /// Returns bits of NXmx pixel_mask, one value a pixel; empty before an image has given them. Any thread.
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
