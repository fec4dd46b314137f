// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/rings/rings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel {

Rings::Rings(std::vector<std::uint16_t> ring_of, std::uint32_t count) : ring_of_(std::move(ring_of)) {
  if (count > kMost) throw ConfigError(fmt::format("{} rings; {} at most", count, kMost));
  const auto place = [count](std::uint16_t ring) { return ring == kNone ? count : std::uint32_t{ring}; };
  first_.resize(std::size_t{count} + 2);
  for (const std::uint16_t ring : ring_of_) first_[place(ring) + 1] += 1;
  for (std::size_t ring = 1; ring < first_.size(); ++ring) first_[ring] += first_[ring - 1];
  std::vector<std::uint32_t> to(first_.begin(), first_.end() - 1);
  std::vector<std::uint32_t> from(std::size_t{count} + 2);
  slot_.reserve(ring_of_.size());
  first_move_.push_back(0);
  for (std::size_t begin = 0; begin < ring_of_.size(); begin += kBand) {
    const std::size_t end = std::min(begin + kBand, ring_of_.size());
    std::fill(from.begin(), from.end(), 0U);
    for (std::size_t pixel = begin; pixel < end; ++pixel) from[place(ring_of_[pixel]) + 1] += 1;
    for (std::uint32_t ring = 0; ring < count; ++ring) {
      const std::uint32_t found = from[ring + 1];
      from[ring + 1] += from[ring];
      if (found == 0) continue;
      moves_.push_back({from[ring], to[ring], found});
      to[ring] += found;
    }
    first_move_.push_back(moves_.size());
    for (std::size_t pixel = begin; pixel < end; ++pixel) {
      slot_.push_back(static_cast<std::uint16_t>(from[place(ring_of_[pixel])]++));
    }
  }
}

float pixel_value(const void* image, PixelFormat format, std::size_t pixel) noexcept {
  if (format.type == PixelType::f32) return static_cast<const float*>(image)[pixel];
  const PhotonRange range = photon_range(format);
  return with_type(format.type, [&]<typename T>(T) {
    const auto value = static_cast<std::int64_t>(static_cast<const T*>(image)[pixel]);
    const bool counts = value >= range.least && value <= range.most;
    return counts ? static_cast<float>(value) : std::numeric_limits<float>::quiet_NaN();
  });
}

}  // namespace rashpa::kernel
