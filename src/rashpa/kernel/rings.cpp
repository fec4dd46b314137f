// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/rings.hpp"

#include <fmt/core.h>

#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons.hpp"

namespace rashpa::kernel {

Rings::Rings(std::vector<std::uint16_t> ring_of, std::uint32_t count) : ring_of_(std::move(ring_of)) {
  if (count > kMost) throw ConfigError(fmt::format("{} rings; {} at most", count, kMost));
  const auto place = [count](std::uint16_t ring) { return ring == kNone ? count : std::uint32_t{ring}; };
  first_.resize(std::size_t{count} + 2);
  for (const std::uint16_t ring : ring_of_) first_[place(ring) + 1] += 1;
  for (std::size_t ring = 1; ring < first_.size(); ++ring) first_[ring] += first_[ring - 1];
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  slot_.reserve(ring_of_.size());
  for (const std::uint16_t ring : ring_of_) slot_.push_back(next[place(ring)]++);
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
