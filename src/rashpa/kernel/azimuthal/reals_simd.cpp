// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/photons/photons.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/azimuthal/reals_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::azimuthal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = Prepared::kSplitBlock;
using Pair = hn::FixedTag<double, 2>;  // signal, variance

/// The values and variances of a block of pixels, 0 of masked ones. False when one is masked. Without a branch on the
/// values of pixels.
template <typename T>
bool take(const T* HWY_RESTRICT pixels, std::size_t count, T least, T most, double* HWY_RESTRICT to) {
  constexpr double kMasked = std::numeric_limits<double>::infinity();
  HWY_ALIGN double values[kBlock];
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(pixels[i]);
    if constexpr (std::is_floating_point_v<T>) {
      values[i] = value;
    } else {
      values[i] = (pixels[i] >= least) & (pixels[i] <= most) ? value : kMasked;
    }
  }
  const hn::CappedTag<double, 8> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto largest = hn::Set(d, std::numeric_limits<double>::max());
  const auto one = hn::Set(d, 1.0);
  for (std::size_t i = count; i % lanes != 0; ++i) values[i] = 0;  // a block has room for whole vectors
  bool all = true;
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto value = hn::Load(d, values + i);
    const auto there = hn::Le(hn::Abs(value), largest);  // neither NaN nor infinite
    all = all && hn::AllTrue(d, there);
    hn::StoreInterleaved2(hn::IfThenElseZero(there, value), hn::IfThenElseZero(there, hn::Max(value, one)), d,
                          to + 2 * i);
  }
  return all;
}

/// Describes where the sums of the bins of every fourth share, or pixel, are.
struct Copies {
  explicit Copies(Scratch& scratch) {
    for (std::size_t i = 0; i < Scratch::kCopies; ++i) at[i] = scratch.reals() + i * 2 * scratch.stride();
  }
  double* at[Scratch::kCopies];  // they may be the same
};

HWY_INLINE void put(double* bin, const double* value) {
  const Pair d;
  hn::StoreU(hn::Add(hn::LoadU(d, bin), hn::LoadU(d, value)), d, bin);
}
HWY_INLINE void put(double* bin, const double* value, float share) {
  const Pair d;
  const auto once = hn::Set(d, static_cast<double>(share));
  const auto factors = hn::Mul(once, hn::OddEven(once, hn::Set(d, 1.0)));  // share, share²
  hn::StoreU(hn::MulAdd(factors, hn::LoadU(d, value), hn::LoadU(d, bin)), d, bin);
}

/// Adds the shares [first, last) of pixels of one block.
template <typename Index>
void scatter_shares(const Prepared& prepared, const Index* HWY_RESTRICT bins, std::size_t first, std::size_t last,
                    const double* HWY_RESTRICT values, const Copies& copies) {
  const float* HWY_RESTRICT shares = prepared.shares();
  const std::uint8_t* HWY_RESTRICT places = prepared.places();
  std::size_t at = first;
  for (; at + Scratch::kCopies <= last; at += Scratch::kCopies) {
    put(copies.at[0] + 2 * std::size_t{bins[at]}, values + 2 * std::size_t{places[at]}, shares[at]);
    put(copies.at[1] + 2 * std::size_t{bins[at + 1]}, values + 2 * std::size_t{places[at + 1]}, shares[at + 1]);
    put(copies.at[2] + 2 * std::size_t{bins[at + 2]}, values + 2 * std::size_t{places[at + 2]}, shares[at + 2]);
    put(copies.at[3] + 2 * std::size_t{bins[at + 3]}, values + 2 * std::size_t{places[at + 3]}, shares[at + 3]);
  }
  for (; at < last; ++at) {
    put(copies.at[0] + 2 * std::size_t{bins[at]}, values + 2 * std::size_t{places[at]}, shares[at]);
  }
}

/// A block of pixels that are not split; those in no bin go into a bin behind the last one.
template <typename Index>
void scatter_pixels(const Index* HWY_RESTRICT bins, std::size_t count, const double* HWY_RESTRICT values,
                    const Copies& copies) {
  std::size_t i = 0;
  for (; i + Scratch::kCopies <= count; i += Scratch::kCopies) {
    put(copies.at[0] + 2 * std::size_t{bins[i]}, values + 2 * i);
    put(copies.at[1] + 2 * std::size_t{bins[i + 1]}, values + 2 * i + 2);
    put(copies.at[2] + 2 * std::size_t{bins[i + 2]}, values + 2 * i + 4);
    put(copies.at[3] + 2 * std::size_t{bins[i + 3]}, values + 2 * i + 6);
  }
  for (; i < count; ++i) put(copies.at[0] + 2 * std::size_t{bins[i]}, values + 2 * i);
}

/// Adds the masked pixels of a block to the sums that are subtracted in the end.
void take_away(const Prepared& prepared, std::size_t first, std::size_t count, const double* values, Sums& sums) {
  for (std::size_t i = 0; i < count; ++i) {
    if (values[2 * i + 1] == 0) add_masked(prepared, first + i, sums);
  }
}

/// Adds the copies to the sums, and empties them.
void flush(const Prepared& prepared, Scratch& scratch, Sums& sums) {
  const Copies copies(scratch);
  const std::size_t used = copies.at[1] == copies.at[0] ? 1 : Scratch::kCopies;
  for (std::size_t i = 0; i < used; ++i) {
    double* HWY_RESTRICT from = copies.at[i];
    for (std::size_t bin = 0; bin < prepared.bins(); ++bin) {
      sums.real[bin].signal += from[2 * bin];
      sums.real[bin].variance += from[2 * bin + 1];
    }
    std::memset(from, 0, 2 * (prepared.bins() + 1) * sizeof(double));
  }
}

template <typename T, typename Index>
void add_typed(const Prepared& prepared, const T* image, const Index* bins, T least, T most, std::size_t first,
               std::size_t last, Scratch& scratch, Sums& sums) {
  const Copies copies(scratch);
  double* values = scratch.values();
  for (std::size_t at = first; at < last;) {
    const std::size_t end = std::min((at / kBlock + 1) * kBlock, last);
    const std::size_t from = prepared.split() ? prepared.shares_before(at) : 0;
    const std::size_t to = prepared.split() ? prepared.shares_before(end) : 1;
    if (from != to) {
      const std::size_t place = at % kBlock;  // as shares count it
      if (!take(image + at, end - at, least, most, values + 2 * place)) {
        take_away(prepared, at, end - at, values + 2 * place, sums);
      }
      if (prepared.split()) {
        scatter_shares(prepared, bins, from, to, values, copies);
      } else {
        scatter_pixels(bins + at, end - at, values + 2 * place, copies);
      }
    }
    at = end;
  }
  flush(prepared, scratch, sums);
}

void add_reals_impl(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first,
                    std::size_t last, Scratch& scratch, Sums& sums) {
  const auto with_bins = [&]<typename T>(const T* pixels, T least, T most) {
    if (prepared.narrow() != nullptr) {
      add_typed(prepared, pixels, prepared.narrow(), least, most, first, last, scratch, sums);
    } else {
      add_typed(prepared, pixels, prepared.wide(), least, most, first, last, scratch, sums);
    }
  };
  if (format.type == PixelType::f32) {
    return with_bins(static_cast<const float*>(image), 0.0F, std::numeric_limits<float>::max());
  }
  const PhotonRange range = photon_range(format);
  with_type(format.type, [&]<typename T>(T) {
    with_bins(static_cast<const T*>(image), static_cast<T>(range.least), static_cast<T>(range.most));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::azimuthal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::azimuthal {

HWY_EXPORT(add_reals_impl);

void add_reals(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
               Scratch& scratch, Sums& sums) noexcept {
  HWY_DYNAMIC_DISPATCH(add_reals_impl)(prepared, image, format, first, last, scratch, sums);
}

}  // namespace rashpa::kernel::azimuthal
#endif  // HWY_ONCE
