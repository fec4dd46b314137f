// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/azimuthal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons.hpp"

namespace rashpa::kernel::azimuthal {

namespace {

std::string place_of(const Config& config, std::size_t pixel) {
  return fmt::format("the pixel in row {}, column {}", pixel / config.width, pixel % config.width);
}

/// A pixel of an image joins its bin, by the recursion for weighted means (README.md).
void join(Sums::Spread& bin, double value, double weight) noexcept {
  const double ratio = value / weight;
  if (bin.norm == 0) {
    bin = {value, weight, 0};
    return;
  }
  const double before = bin.signal / bin.norm - ratio;
  bin.signal += value;
  bin.norm += weight;
  const double after = bin.signal / bin.norm - ratio;
  bin.variance += weight * weight * before * after;
}

template <typename T>
void add_typed(const Prepared& prepared, const T* image, PhotonRange range, std::size_t first, std::size_t last,
               Sums& sums) noexcept {
  const std::size_t bins = prepared.bins();
  for (std::size_t pixel = first; pixel < last; ++pixel) {
    const std::uint32_t bin = prepared.bin(pixel);
    if (bin == bins) continue;
    const auto count = static_cast<std::int64_t>(image[pixel]);
    const double weight = prepared.norm()[pixel];
    const double dark = prepared.dark(pixel);
    if (count < range.least || count > range.most) {
      sums.any_masked = true;
      Prepared::Bin& off = sums.masked[bin];
      off.norm += weight;
      off.norm2 += weight * weight;
      off.dark += dark;
      off.pixels += 1;
      continue;
    }
    sums.signal[bin] += count;
    if (prepared.errors() == Errors::poisson) sums.variance[bin] += std::max<std::int64_t>(count, 1);
    if (prepared.errors() == Errors::azimuthal) {
      join(sums.spread[bin], static_cast<double>(count) - dark, weight);
    }
  }
}

}  // namespace

Prepared::Prepared(const Config& config) : errors_(config.errors), norm_(config.norm), dark_(config.dark) {
  const std::size_t bins = config.radial_axis.size() * std::max<std::size_t>(1, config.azimuthal_axis.size());
  const std::size_t pixels = config.bins.size();
  if (bins == 0 || pixels == 0) throw ConfigError("kernel azimuthal: no bins, or no pixels");
  if (norm_.size() != pixels || (!dark_.empty() && dark_.size() != pixels) || config.width == 0) {
    throw ConfigError("kernel azimuthal: the arrays bins, norm and dark must have one value for each pixel");
  }
  all_.resize(bins);
  counts_.resize((pixels + kBlock - 1) / kBlock);
  const bool narrow = bins < std::numeric_limits<std::uint16_t>::max();
  (narrow ? narrow_.resize(pixels) : wide_.resize(pixels));
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    const std::uint32_t bin = config.bins[pixel];
    if (bin != kNoBin) {
      if (bin >= bins) {
        throw ConfigError(
            fmt::format("kernel azimuthal: bins: {} is in bin {} of {}", place_of(config, pixel), bin, bins));
      }
      const double weight = norm_[pixel];
      if (!std::isfinite(weight) || weight <= 0) {
        throw ConfigError(
            fmt::format("kernel azimuthal: norm: {} is {}, which is not above 0", place_of(config, pixel), weight));
      }
      if (!std::isfinite(dark(pixel))) {
        throw ConfigError(fmt::format("kernel azimuthal: dark: {} is no number", place_of(config, pixel)));
      }
      all_[bin].norm += weight;
      all_[bin].norm2 += weight * weight;
      all_[bin].dark += dark(pixel);
      all_[bin].pixels += 1;
      counts_[pixel / kBlock] = 1;
    }
    const std::uint32_t at = bin == kNoBin ? static_cast<std::uint32_t>(bins) : bin;
    if (narrow) {
      narrow_[pixel] = static_cast<std::uint16_t>(at);
    } else {
      wide_[pixel] = at;
    }
  }
}

Sums::Sums(const Prepared& prepared)
    : signal(prepared.bins() + 1),
      variance(prepared.errors() == Errors::poisson ? prepared.bins() + 1 : 0),
      masked(prepared.bins()),
      spread(prepared.errors() == Errors::azimuthal ? prepared.bins() : 0) {}

void Sums::clear() noexcept {
  std::fill(signal.begin(), signal.end(), 0);
  std::fill(variance.begin(), variance.end(), 0);
  std::fill(spread.begin(), spread.end(), Spread{});
  if (any_masked) std::fill(masked.begin(), masked.end(), Prepared::Bin{});
  any_masked = false;
}

void Sums::add(const Sums& part) noexcept {
  for (std::size_t bin = 0; bin < signal.size(); ++bin) signal[bin] += part.signal[bin];
  for (std::size_t bin = 0; bin < variance.size(); ++bin) variance[bin] += part.variance[bin];
  if (!part.any_masked) return;
  any_masked = true;
  for (std::size_t bin = 0; bin < masked.size(); ++bin) {
    masked[bin].norm += part.masked[bin].norm;
    masked[bin].norm2 += part.masked[bin].norm2;
    masked[bin].dark += part.masked[bin].dark;
    masked[bin].pixels += part.masked[bin].pixels;
  }
}

void add_reference(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
                   Sums& sums) noexcept {
  with_type(format.type, [&]<typename T>(T) {
    add_typed(prepared, static_cast<const T*>(image), photon_range(format), first, last, sums);
  });
}

Scratch::Scratch(std::size_t bins) : stride_((bins + 1 + 7) / 8 * 8 + 8) {
  if (bins <= kFewBins) copies_.resize(kCopies * stride_);
}

void finish(const Prepared& prepared, const Sums& sums, double* profile) noexcept {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::size_t bins = prepared.bins();
  for (std::size_t bin = 0; bin < bins; ++bin) {
    Prepared::Bin left = prepared.all()[bin];
    if (sums.any_masked) {
      const Prepared::Bin& off = sums.masked[bin];
      left.norm -= off.norm;
      left.norm2 -= off.norm2;
      left.dark -= off.dark;
      left.pixels -= off.pixels;
    }
    const bool there = left.pixels != 0;
    const double signal = static_cast<double>(sums.signal[bin]) - left.dark;
    double error = kNone;
    if (there && prepared.errors() == Errors::poisson) {
      error = std::sqrt(static_cast<double>(sums.variance[bin]) + left.dark) / left.norm;
    } else if (there && prepared.errors() == Errors::azimuthal) {
      error = std::sqrt(std::max(0.0, sums.spread[bin].variance)) / left.norm;
    }
    profile[bin] = there ? signal / left.norm : kNone;
    profile[bins + bin] = error;
    profile[2 * bins + bin] = there ? signal : 0.0;
    profile[3 * bins + bin] = there ? left.norm : 0.0;
  }
}

}  // namespace rashpa::kernel::azimuthal
