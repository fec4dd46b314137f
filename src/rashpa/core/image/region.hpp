// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// A rectangle of a module's frame, in pixels.
struct Region {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

/// Returns true when `inner` is not empty and lies inside a frame of `width` × `height` pixels.
constexpr bool inside(const Region& inner, std::uint32_t width, std::uint32_t height) noexcept {
  return inner.width > 0 && inner.height > 0 && inner.x < width && inner.y < height && inner.width <= width - inner.x &&
         inner.height <= height - inner.y;
}

/// A time slice: every `every`-th frame, starting with frame `phase`.
struct Slice {
  std::uint64_t every = 1;
  std::uint64_t phase = 0;
  friend bool operator==(const Slice&, const Slice&) = default;

  /// Returns the frame number of the slice's image number `index`.
  [[nodiscard]] constexpr std::uint64_t frame(std::uint64_t index) const noexcept { return phase + index * every; }
  /// Returns how many of the frames 0 … `frames`−1 belong to the slice.
  [[nodiscard]] constexpr std::uint64_t images(std::uint64_t frames) const noexcept {
    return frames > phase ? (frames - phase + every - 1) / every : 0;
  }
};

}  // namespace rashpa
