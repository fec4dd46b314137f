// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/azimuthal/azimuthal.hpp"

namespace rashpa::kernel::azimuthal {

namespace {

std::string place_of(const Config& config, std::size_t pixel) {
  return fmt::format("the pixel in row {}, column {}", pixel / config.width, pixel % config.width);
}

}  // namespace

Prepared::Prepared(const Config& config) : errors_(config.errors), norm_(config.norm), dark_(config.dark) {
  const std::size_t bins = config.radial_axis.size() * std::max<std::size_t>(1, config.azimuthal_axis.size());
  const std::size_t pixels = norm_.size();
  if (bins == 0 || pixels == 0)
    throw ConfigError("kernel azimuthal: there are no bins, or no pixels; give at least one of each");
  const std::vector<std::uint32_t>& of_pixels = config.share_ends.empty() ? config.bins : config.share_ends;
  if (of_pixels.size() != pixels || (!dark_.empty() && dark_.size() != pixels) || config.width == 0) {
    throw ConfigError(
        "kernel azimuthal: the arrays bins, share_ends, norm and dark differ in their size; give one value for each "
        "pixel");
  }
  all_.resize(bins);
  if (config.share_ends.empty()) {
    take_bins(config);
  } else {
    take_shares(config);
  }
}

/// Counts a share of a pixel, after it has been checked.
void Prepared::put(const Config& config, std::size_t pixel, std::uint32_t bin, double share) {
  if (bin >= all_.size()) {
    throw ConfigError(fmt::format("kernel azimuthal: bins: {} is in bin {} of {}; give the number of a bin",
                                  place_of(config, pixel), bin, all_.size()));
  }
  const double weight = norm_[pixel];
  if (!std::isfinite(weight) || weight <= 0) {
    throw ConfigError(fmt::format("kernel azimuthal: norm: {} is {}, which is not above 0; give a weight above 0",
                                  place_of(config, pixel), weight));
  }
  if (!std::isfinite(dark(pixel))) {
    throw ConfigError(
        fmt::format("kernel azimuthal: dark: {} is no number; give a finite one", place_of(config, pixel)));
  }
  Bin& one = all_[bin];
  one.norm += share * weight;
  one.dark += share * dark(pixel);
  one.dark_variance += share * share * dark(pixel);
  one.shares += 1;
}

void Prepared::take_bins(const Config& config) {
  const std::size_t pixels = config.bins.size();
  const bool narrow = all_.size() < std::numeric_limits<std::uint16_t>::max();
  (narrow ? narrow_.resize(pixels) : wide_.resize(pixels));
  counts_.resize((pixels + kBlock - 1) / kBlock);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    const std::uint32_t bin = config.bins[pixel];
    if (bin != kNoBin) {
      put(config, pixel, bin, 1);
      counts_[pixel / kBlock] = 1;
    }
    const std::uint32_t at = bin == kNoBin ? static_cast<std::uint32_t>(all_.size()) : bin;
    if (narrow) {
      narrow_[pixel] = static_cast<std::uint16_t>(at);
    } else {
      wide_[pixel] = at;
    }
  }
}

void Prepared::take_shares(const Config& config) {
  const std::size_t shares = config.shares.size();
  if (config.share_bins.size() != shares || config.share_ends.back() != shares) {
    throw ConfigError(fmt::format("kernel azimuthal: share_ends: the last one is {}; there are {} bins and {} shares",
                                  config.share_ends.back(), config.share_bins.size(), shares));
  }
  ends_ = config.share_ends;
  shares_ = config.shares;
  places_.resize(shares);
  if (all_.size() < std::numeric_limits<std::uint16_t>::max()) {
    narrow_.assign(config.share_bins.begin(), config.share_bins.end());
  } else {
    wide_ = config.share_bins;
  }
  for (std::size_t pixel = 0; pixel < ends_.size(); ++pixel) {
    const std::size_t from = shares_before(pixel), to = ends_[pixel];
    if (from > to || to > shares) {
      throw ConfigError(
          fmt::format("kernel azimuthal: share_ends: {} has shares from {} to {} of {}; give ends that rise",
                      place_of(config, pixel), from, to, shares));
    }
    for (std::size_t at = from; at < to; ++at) {
      const double share = shares_[at];
      if (!std::isfinite(share)) {
        throw ConfigError(fmt::format("kernel azimuthal: shares: {} has a share that is no number; give finite ones",
                                      place_of(config, pixel)));
      }
      put(config, pixel, config.share_bins[at], share);
      places_[at] = static_cast<std::uint8_t>(pixel % kSplitBlock);
    }
  }
}

}  // namespace rashpa::kernel::azimuthal
