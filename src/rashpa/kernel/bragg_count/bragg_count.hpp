#pragma once
/// The Bragg veto: how many pixels are bright, and whether the image is kept for it. See README.md.
#include <cstddef>
#include <cstdint>
#include <limits>

#include "rashpa/core/decision.hpp"

namespace rashpa::kernel::bragg_count {

/// An image is kept when min_pixels ≤ bright pixels ≤ max_pixels.
struct Config {
  std::int16_t threshold = 1;  ///< photons; a pixel at or above is bright
  std::uint32_t min_pixels = 0;
  std::uint32_t max_pixels = std::numeric_limits<std::uint32_t>::max();
};

/// Throws ConfigError when no image could be kept.
void check(const Config& config);

/// VetoReason::none when an image with `bright` bright pixels is kept.
constexpr VetoReason decide(const Config& config, std::uint32_t bright) noexcept {
  if (bright < config.min_pixels) return VetoReason::too_few;
  return bright > config.max_pixels ? VetoReason::too_many : VetoReason::none;
}

/// Bright pixels among `pixels` photons: masked ones (INT16_MIN) never count, saturated ones (INT16_MAX) do. The plain
/// reference.
std::uint32_t count_reference(const std::int16_t* photons, std::size_t pixels, std::int16_t threshold) noexcept;

/// The same with the machine's widest vectors. On the data path the count is taken inside the conversion
/// (jungfrau::Taps).
std::uint32_t count(const std::int16_t* photons, std::size_t pixels, std::int16_t threshold) noexcept;

}  // namespace rashpa::kernel::bragg_count
