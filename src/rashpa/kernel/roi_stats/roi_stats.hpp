// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Computes sum, mean, smallest and largest value of named rectangles. See README.md.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::roi_stats {

/// A rectangle of the kernel's input image, in pixels.
struct NamedRegion {
  std::string name;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  friend bool operator==(const NamedRegion&, const NamedRegion&) = default;
};

/// The most regions of a kernel.
inline constexpr std::size_t kMostRegions = 8;

struct Config {
  std::string regions;  ///< "name=x,y,width,height", separated by ";"
};

/// Reads Config::regions. Throws ConfigError that names the error: syntax, a repeated name, an empty rectangle, too
/// many.
std::vector<NamedRegion> parse(const std::string& text);

/// Makes a pipeline step. Throws as parse().
std::shared_ptr<const Step> step_of(const Config& config);

/// The statistics of a region, or of some of its pixels.
struct Stats {
  std::int64_t sum = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  std::uint64_t counted = 0;  ///< pixels that are not masked
  constexpr void add(const Stats& more) noexcept {
    sum += more.sum;
    counted += more.counted;
    least = more.least < least ? more.least : least;
    most = more.most > most ? more.most : most;
  }
  friend bool operator==(const Stats&, const Stats&) = default;
};

/// The number of columns of a region.
inline constexpr std::size_t kColumns = 5;

/// Writes the statistics as the columns of a region, on hosts and devices.
constexpr void write(const Stats& stats, Scalar* column) noexcept {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  const bool none = stats.counted == 0;
  column[0] = Scalar::of_integer(stats.sum);
  column[1] = Scalar::of_real(none ? std::numeric_limits<double>::quiet_NaN()
                                   : static_cast<double>(stats.sum) / static_cast<double>(stats.counted));
  column[2] = Scalar::of_integer(none ? kNone : stats.least);
  column[3] = Scalar::of_integer(none ? kNone : stats.most);
  column[4] = Scalar::of_count(stats.counted);
}
/// Writes the statistics of region number `region`.
inline void write(const Stats& stats, std::size_t region, Finding& finding) noexcept {
  write(stats, finding.scalars + region * kColumns);
}

/// Returns the statistics of `count` consecutive pixels of any integer format. The plain reference.
Stats stats_reference(const void* pixels, PixelFormat format, std::size_t count) noexcept;
/// Returns the statistics of stats_reference(), with the machine's widest vectors.
Stats stats(const void* pixels, PixelFormat format, std::size_t count) noexcept;

}  // namespace rashpa::kernel::roi_stats
