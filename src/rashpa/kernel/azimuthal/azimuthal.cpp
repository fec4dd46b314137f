// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/azimuthal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::azimuthal {

namespace {

/// A share of a pixel joins its bin, by the recursion for weighted means (README.md).
void join(Sums::Spread& bin, double value, double share, double pixel_norm) noexcept {
  const double ratio = value / pixel_norm, weight = share * pixel_norm;
  if (bin.norm == 0) {
    bin = {share * value, weight, 0};
    return;
  }
  const double before = bin.signal / bin.norm - ratio;
  bin.signal += share * value;
  bin.norm += weight;
  const double after = bin.signal / bin.norm - ratio;
  bin.variance += weight * weight * before * after;
}

template <typename T>
bool counts(T value, PhotonRange range) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value);
  } else {
    return value >= range.least && value <= range.most;
  }
}

/// Calls `work` with bin and size of each share of a pixel.
template <typename Work>
void for_each_share(const Prepared& prepared, std::size_t pixel, Work work) noexcept {
  if (prepared.split()) {
    const std::size_t end = prepared.shares_before(pixel + 1);
    for (std::size_t at = prepared.shares_before(pixel); at < end; ++at) work(prepared.bin(at), prepared.shares()[at]);
  } else if (const std::uint32_t bin = prepared.bin(pixel); bin != prepared.bins()) {
    work(bin, 1.0);
  }
}

/// Adds one share of a pixel to its bin.
template <typename T>
void add_share(const Prepared& prepared, T value, std::size_t pixel, std::uint32_t bin, double share,
               Sums& sums) noexcept {
  const bool poisson = prepared.errors() == Errors::poisson;
  const auto number = static_cast<double>(value);
  if (!sums.real.empty()) {
    sums.real[bin].signal += share * number;
    if (poisson) sums.real[bin].variance += share * share * std::max(number, 1.0);
  } else if constexpr (std::is_integral_v<T>) {
    const auto count = static_cast<std::int64_t>(value);
    sums.signal[bin] += count;
    if (poisson) sums.variance[bin] += std::max<std::int64_t>(count, 1) - 1;
  }
  if (prepared.errors() == Errors::azimuthal) {
    join(sums.spread[bin], number - prepared.dark(pixel), share, prepared.norm()[pixel]);
  }
}

template <typename T>
void add_typed(const Prepared& prepared, const T* image, PhotonRange range, std::size_t first, std::size_t last,
               Sums& sums) noexcept {
  for (std::size_t pixel = first; pixel < last; ++pixel) {
    if (!counts(image[pixel], range)) {
      add_masked(prepared, pixel, sums);
      continue;
    }
    for_each_share(prepared, pixel, [&](std::uint32_t bin, double share) {
      add_share(prepared, image[pixel], pixel, bin, share, sums);
    });
  }
}

}  // namespace

Sums::Sums(const Prepared& prepared, PixelFormat format)
    : signal(real_sums(prepared, format) ? 0 : prepared.bins() + 1),
      variance(!signal.empty() && prepared.errors() == Errors::poisson ? prepared.bins() + 1 : 0),
      real(signal.empty() ? prepared.bins() + 1 : 0),
      masked(prepared.bins()),
      spread(prepared.errors() == Errors::azimuthal ? prepared.bins() : 0) {}

void Sums::clear() noexcept {
  std::fill(signal.begin(), signal.end(), 0);
  std::fill(variance.begin(), variance.end(), 0);
  std::fill(real.begin(), real.end(), Real{});
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
    masked[bin].dark += part.masked[bin].dark;
    masked[bin].dark_variance += part.masked[bin].dark_variance;
    masked[bin].shares += part.masked[bin].shares;
  }
}

void add_reference(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
                   Sums& sums) noexcept {
  if (format.type == PixelType::f32) {
    return add_typed(prepared, static_cast<const float*>(image), {}, first, last, sums);
  }
  with_type(format.type, [&]<typename T>(T) {
    add_typed(prepared, static_cast<const T*>(image), photon_range(format), first, last, sums);
  });
}

void add_masked(const Prepared& prepared, std::size_t pixel, Sums& sums) noexcept {
  const double dark = prepared.dark(pixel);
  for_each_share(prepared, pixel, [&](std::uint32_t bin, double share) {
    sums.any_masked = true;
    Prepared::Bin& off = sums.masked[bin];
    off.norm += share * prepared.norm()[pixel];
    off.dark += share * dark;
    off.dark_variance += share * share * dark;
    off.shares += 1;
  });
}

Scratch::Scratch(const Prepared& prepared, PixelFormat format) : stride_((prepared.bins() + 1 + 7) / 8 * 8 + 8) {
  const bool few = prepared.bins() <= kFewBins;
  if (prepared.errors() == Errors::azimuthal) return;
  if (real_sums(prepared, format)) {
    if (!few) stride_ = 0;  // one copy
    reals_.resize(few ? 2 * kCopies * stride_ : 2 * (prepared.bins() + 1));
    values_.resize(2 * (Prepared::kSplitBlock + 8));  // vectors may write behind the last pixel
  } else if (few) {
    copies_.resize(2 * kCopies * stride_);
  }
}

void add(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
         Scratch& scratch, Sums& sums) noexcept {
  if (prepared.errors() == Errors::azimuthal) return add_reference(prepared, image, format, first, last, sums);
  if (real_sums(prepared, format)) return add_reals(prepared, image, format, first, last, scratch, sums);
  if (prepared.bins() > kFewBins) return add_reference(prepared, image, format, first, last, sums);
  add_counts(prepared, image, format, first, last, scratch, sums);
}

void finish(const Prepared& prepared, const Sums& sums, double* profile) noexcept {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::size_t bins = prepared.bins();
  for (std::size_t bin = 0; bin < bins; ++bin) {
    Prepared::Bin left = prepared.all()[bin];
    if (sums.any_masked) {
      const Prepared::Bin& off = sums.masked[bin];
      left.norm -= off.norm;
      left.dark -= off.dark;
      left.dark_variance -= off.dark_variance;
      left.shares -= off.shares;
    }
    const bool there = left.shares != 0;
    const bool real = !sums.real.empty();
    const double signal = (real ? sums.real[bin].signal : static_cast<double>(sums.signal[bin])) - left.dark;
    double error = kNone;
    if (there && prepared.errors() == Errors::poisson) {
      const double variance =
          real ? sums.real[bin].variance : static_cast<double>(sums.variance[bin] + std::int64_t{left.shares});
      error = std::sqrt(variance + left.dark_variance) / left.norm;
    } else if (there && prepared.errors() == Errors::azimuthal) {
      error = std::sqrt(std::max(0.0, sums.spread[bin].variance)) / left.norm;
    }
    profile[bin] = there ? signal / left.norm : kNone;
    profile[bins + bin] = error;
    profile[2 * bins + bin] = there ? signal : 0.0;
    profile[3 * bins + bin] = there ? left.norm : 0.0;
  }
}

/// Judges the mean of the ring, which is NaN when no pixel of it is there.
void Ring::judge(const double* profile, std::size_t bins, Finding& finding) const noexcept {
  double signal = 0, norm = 0;
  for (std::size_t row = 0; row < bins; row += radial) {
    for (std::size_t bin = row + first; bin < row + last; ++bin) {
      signal += profile[2 * bins + bin];
      norm += profile[3 * bins + bin];
    }
  }
  const double mean = signal / norm;
  finding.scalars[0] = Scalar::of_real(mean);
  finding.verdict = limits.verdict(mean);
}

}  // namespace rashpa::kernel::azimuthal
