// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A veto on the sum of an image's counts, and on how much of it is masked. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::total_counts {

/// An image is kept when min_counts ≤ sum ≤ max_counts and at most max_masked of its pixels are masked.
struct Config {
  std::int64_t min_counts = 0;  ///< 0, or below: no minimum; noise around zero photons has sums below zero
  std::int64_t max_counts = 1'000'000'000'000'000;
  double max_masked = 1;  ///< fraction of the pixels
};

/// Throws ConfigError when no image could be kept.
void check(const Config& config);

/// A step of a pipeline. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// The totals of an image, or of a part of it.
struct Totals {
  std::int64_t counts = 0;   ///< of pixels that are not masked
  std::uint32_t masked = 0;  ///< pixels
  friend bool operator==(const Totals&, const Totals&) = default;
};

/// The limits of an image's fate, as numbers that a device can compare.
struct Limits {
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::uint32_t masked = 0;
  /// 0: kept; 1, 2, 3: the reason.
  [[nodiscard]] constexpr std::uint8_t verdict(const Totals& totals) const noexcept {
    if (totals.masked > masked) return 3;
    if (totals.counts < least) return 1;
    return totals.counts > most ? 2 : 0;
  }
};
Limits limits_of(const Config& config, std::size_t pixels) noexcept;

/// The totals of `pixels` pixels of any integer format. The plain reference.
Totals total_reference(const void* image, PixelFormat format, std::size_t pixels) noexcept;

/// The same with the machine's widest vectors.
Totals total(const void* image, PixelFormat format, std::size_t pixels) noexcept;

}  // namespace rashpa::kernel::total_counts
