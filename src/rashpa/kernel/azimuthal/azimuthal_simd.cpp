// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/photons.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/azimuthal/azimuthal_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::azimuthal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = Prepared::kBlock;
constexpr std::size_t kAtOnce = 65'536;  // pixels of 16 bits whose sum fits into 32

/// Whether all pixels of a block are counts.
template <typename T>
bool all_count(const T* HWY_RESTRICT pixels, T least, T most) {
  const hn::CappedTag<T, kBlock> d;
  auto low = hn::LoadU(d, pixels);
  auto high = low;
  for (std::size_t i = hn::Lanes(d); i < kBlock; i += hn::Lanes(d)) {
    const auto values = hn::LoadU(d, pixels + i);
    low = hn::Min(low, values);
    high = hn::Max(high, values);
  }
  const auto enough = hn::Eq(hn::Max(low, hn::Set(d, least)), low);
  return hn::AllTrue(d, hn::And(enough, hn::Eq(hn::Min(high, hn::Set(d, most)), high)));
}

/// What one pixel adds. Of few bits: 32 bits hold the sum of 65536 of them, so that one word holds two sums: max(count,
/// 1), and what that is too much.
template <bool kVariance, typename T>
HWY_INLINE std::uint64_t parts_of(T value) {
  if constexpr (!kVariance) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    const auto count = static_cast<std::int32_t>(value);
    const std::int32_t at_least = std::max(count, 1);
    return static_cast<std::uint32_t>(at_least) | static_cast<std::uint64_t>(at_least - count) << 32U;
  }
}

/// Pixels [first, last), at most 65536 of 16 bits, into the four copies. `careful` takes a block that has masked ones.
template <bool kVariance, typename T, typename Careful>
void scatter(const Prepared& prepared, const T* HWY_RESTRICT image, T least, T most, std::size_t first,
             std::size_t last, Scratch& scratch, Careful careful) {
  const std::uint16_t* HWY_RESTRICT bins = prepared.narrow();
  std::uint64_t* HWY_RESTRICT a = scratch.copies();
  std::uint64_t* HWY_RESTRICT b = a + scratch.stride();
  std::uint64_t* HWY_RESTRICT c = b + scratch.stride();
  std::uint64_t* HWY_RESTRICT e = c + scratch.stride();
  for (std::size_t at = first; at < last; at += kBlock) {
    if (!prepared.counts(at / kBlock)) continue;
    if (at + kBlock > last || !all_count(image + at, least, most)) {
      careful(at, std::min(at + kBlock, last));
      continue;
    }
    for (std::size_t i = at; i < at + kBlock; i += 4) {
      a[bins[i]] += parts_of<kVariance>(image[i]);
      b[bins[i + 1]] += parts_of<kVariance>(image[i + 1]);
      c[bins[i + 2]] += parts_of<kVariance>(image[i + 2]);
      e[bins[i + 3]] += parts_of<kVariance>(image[i + 3]);
    }
  }
}

/// Into the sums, and the copies are empty again.
template <bool kVariance>
void flush(Scratch& scratch, Sums& sums) {
  std::uint64_t* HWY_RESTRICT a = scratch.copies();
  const std::size_t stride = scratch.stride();
  for (std::size_t bin = 0; bin < sums.signal.size(); ++bin) {
    const std::uint64_t sum = a[bin] + a[stride + bin] + a[2 * stride + bin] + a[3 * stride + bin];
    if constexpr (kVariance) {
      const auto at_least = static_cast<std::int64_t>(sum & 0xFFFFFFFFU);
      sums.variance[bin] += at_least;
      sums.signal[bin] += at_least - static_cast<std::int64_t>(sum >> 32U);
    } else {
      sums.signal[bin] += static_cast<std::int64_t>(sum);
    }
  }
  std::memset(a, 0, Scratch::kCopies * stride * sizeof(std::uint64_t));
}

template <bool kVariance, typename T>
void add_typed(const Prepared& prepared, const T* image, PixelFormat format, std::size_t first, std::size_t last,
               Scratch& scratch, Sums& sums) {
  const PhotonRange range = photon_range(format);
  const auto careful = [&](std::size_t begin, std::size_t end) {
    add_reference(prepared, image, format, begin, end, sums);
  };
  // blocks lie at multiples of their size
  const std::size_t from = std::min((first + kBlock - 1) / kBlock * kBlock, last);
  careful(first, from);
  for (std::size_t at = from; at < last; at += kAtOnce) {
    const std::size_t end = std::min(at + kAtOnce, last);
    scatter<kVariance>(prepared, image, static_cast<T>(range.least), static_cast<T>(range.most), at, end, scratch,
                       careful);
    if (kVariance || end == last) flush<kVariance>(scratch, sums);
  }
}

void add_impl(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
              Scratch& scratch, Sums& sums) {
  const bool variance = prepared.errors() == Errors::poisson;
  with_type(format.type, [&]<typename T>(T) {
    const auto* pixels = static_cast<const T*>(image);
    if constexpr (sizeof(T) <= 2) {
      if (variance) return add_typed<true>(prepared, pixels, format, first, last, scratch, sums);
    } else if (variance) {
      return add_reference(prepared, image, format, first, last, sums);
    }
    add_typed<false>(prepared, pixels, format, first, last, scratch, sums);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::azimuthal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::azimuthal {

HWY_EXPORT(add_impl);

void add(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
         Scratch& scratch, Sums& sums) noexcept {
  if (prepared.errors() == Errors::azimuthal || prepared.bins() > kFewBins) {
    return add_reference(prepared, image, format, first, last, sums);
  }
  HWY_DYNAMIC_DISPATCH(add_impl)(prepared, image, format, first, last, scratch, sums);
}

}  // namespace rashpa::kernel::azimuthal
#endif  // HWY_ONCE
