// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A veto on the sum of an image's counts and on its fraction of masked pixels. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::total_counts {

/// The limits: an image is kept when min_counts ≤ sum ≤ max_counts and at most the fraction max_masked of its pixels is
/// masked.
struct Config {
  std::int64_t min_counts = 0;  ///< 0 or below: no minimum, as noise around zero photons has negative sums
  std::int64_t max_counts = 1'000'000'000'000'000;
  double max_masked = 1;  ///< fraction of the pixels
};

/// Throws ConfigError when the limits keep no image.
void check(const Config& config);

/// Makes a pipeline step. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// The totals of an image, or of some of its pixels.
struct Totals {
  std::int64_t counts = 0;   ///< sum over pixels that are not masked
  std::uint32_t masked = 0;  ///< number of masked pixels
  friend bool operator==(const Totals&, const Totals&) = default;
};

/// The limits of the verdict, as numbers that a device can compare.
struct Limits {
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::uint32_t masked = 0;
  /// Returns 0 when the image is kept, or the reason 1, 2 or 3.
  [[nodiscard]] constexpr std::uint8_t verdict(const Totals& totals) const noexcept {
    if (totals.masked > masked) return 3;
    if (totals.counts < least) return 1;
    return totals.counts > most ? 2 : 0;
  }
};
Limits limits_of(const Config& config, std::size_t pixels) noexcept;

/// Returns the totals of `pixels` pixels of any integer format. The plain reference.
Totals total_reference(const void* image, PixelFormat format, std::size_t pixels) noexcept;

/// Returns the totals of total_reference(), with the machine's widest vectors.
Totals total(const void* image, PixelFormat format, std::size_t pixels) noexcept;

}  // namespace rashpa::kernel::total_counts
