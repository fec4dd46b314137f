// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa::dataset {

/// The shape that all modules of a detector share.
struct ModuleShape {
  std::uint32_t width = 0;   ///< pixels, fast axis
  std::uint32_t height = 0;  ///< pixels, slow axis
  PixelType pixel = PixelType::u16;
  [[nodiscard]] constexpr std::uint64_t pitch_bytes() const noexcept {
    return static_cast<std::uint64_t>(width) * pixel_bytes(pixel);
  }
  [[nodiscard]] constexpr std::uint64_t frame_bytes() const noexcept { return pitch_bytes() * height; }
};

/// Source of emulated pixels. All frames lie in memory before the run starts; calls are const, from any thread, and do
/// not allocate.
class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual ModuleShape shape() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t modules() const noexcept = 0;
  /// Returns the number of frames held. Frame number n of a run is frame n mod frames().
  [[nodiscard]] virtual std::uint64_t frames() const noexcept = 0;
  /// Returns the frame's first byte. Pixels are row-major with pitch shape().pitch_bytes(). `frame` < frames(),
  /// `module` < modules().
  [[nodiscard]] virtual const std::byte* frame(std::uint32_t module, std::uint64_t frame) const noexcept = 0;
  /// Returns the one block of memory with all frames and the gaps between them, which an RNIC registers.
  [[nodiscard]] virtual std::span<const std::byte> memory() const noexcept = 0;
  /// Returns the FrameRecord::Flag bits of the frame (dark, laser).
  [[nodiscard]] virtual std::uint32_t flags(std::uint64_t frame) const noexcept = 0;
};

}  // namespace rashpa::dataset
