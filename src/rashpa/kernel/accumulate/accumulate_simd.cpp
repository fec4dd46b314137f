// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/photons/photons.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/accumulate/accumulate_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::accumulate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Pixels whose sums stay in the first cache while a stack's images are added to them, and images that are added up in
// registers before: few enough streams for the prefetcher, and nothing overflows 32 bits.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kImages = 8;

/// Adds lanes of 32 bits, `low` + `high` · 2^shift, to sums of 64 bits.
template <class D32, class V>
HWY_INLINE void add_wide(D32 /*d32*/, V low, V high, int shift, std::uint64_t* HWY_RESTRICT to) {
  const hn::Half<D32> half;
  using Lane = hn::TFromD<D32>;
  using Sum = std::conditional_t<std::is_signed_v<Lane>, std::int64_t, std::uint64_t>;
  const hn::Repartition<Sum, D32> d64;
  const hn::RebindToUnsigned<decltype(d64)> du64;
  using Unsigned = hn::RebindToUnsigned<D32>;
  const auto lanes = hn::Lanes(d64);
  const auto one = [&](auto low_half, auto high_half, std::uint64_t* at) {
    // the low parts are unsigned in any case
    const auto lo = hn::PromoteTo(du64, hn::BitCast(hn::Half<Unsigned>(), low_half));
    const auto hi = hn::BitCast(du64, hn::PromoteTo(d64, high_half));
    const auto both = hn::Add(lo, hn::ShiftLeftSame(hi, shift));
    hn::StoreU(hn::Add(hn::LoadU(du64, at), both), du64, at);
  };
  one(hn::LowerHalf(half, low), hn::LowerHalf(half, high), to);
  one(hn::UpperHalf(half, low), hn::UpperHalf(half, high), to + lanes);
}

/// One vector of pixels of up to kImages images. Pixels beyond `least` and `most_count` are masked.
template <typename T, bool kMax, bool kSquares, class D32>
HWY_INLINE void add_vector(D32 d32, Sums& sums, const std::byte* const* images, std::size_t count, std::size_t p,
                           T least, T most_count) {
  using W = hn::TFromD<D32>;
  const hn::Rebind<T, D32> narrow;
  const hn::RebindToUnsigned<D32> du;
  const hn::RebindToSigned<D32> di;
  const auto from = hn::Set(d32, static_cast<W>(least));
  const auto to = hn::Set(d32, static_cast<W>(most_count));
  const auto low16 = hn::Set(d32, W{0xFFFF});
  const auto low16u = hn::Set(du, 0xFFFFU);
  constexpr bool kWide = sizeof(T) == 4;
  auto low = hn::Zero(d32), high = hn::Zero(d32);
  auto masked = hn::Zero(du);
  auto b_low = hn::Zero(du), b_high = hn::Zero(du), ab_low = hn::Zero(du), ab_high = hn::Zero(du);
  auto a_low = hn::Zero(du), a_high = hn::Zero(du);
  [[maybe_unused]] auto most = low;
  std::int32_t* const to_max = kMax ? sums.max.data() + p : nullptr;
  if constexpr (kMax) most = hn::BitCast(d32, hn::LoadU(di, to_max));
  for (std::size_t i = 0; i < count; ++i) {
    const auto pixels = hn::LoadU(narrow, reinterpret_cast<const T*>(images[i]) + p);
    const auto values = [&] {
      if constexpr (kWide) {
        return pixels;
      } else {
        return hn::PromoteTo(d32, pixels);
      }
    }();
    const auto above = hn::Gt(values, to);
    const auto beyond = std::is_signed_v<T> ? hn::Or(above, hn::Lt(values, from)) : above;
    const auto kept = hn::IfThenZeroElse(beyond, values);
    masked = hn::Sub(masked, hn::BitCast(du, hn::VecFromMask(d32, beyond)));
    if constexpr (kMax) most = hn::IfThenElse(beyond, most, hn::Max(most, values));
    if constexpr (kWide) {
      low = hn::Add(low, hn::And(kept, low16));
      high = hn::Add(high, hn::ShiftRight<16>(kept));
    } else {
      low = hn::Add(low, kept);
    }
    if constexpr (kSquares) {
      const auto size = [&] {
        if constexpr (std::is_signed_v<T>) {
          return hn::BitCast(du, hn::Abs(kept));
        } else {
          return hn::BitCast(du, kept);
        }
      }();
      if constexpr (kWide) {
        const auto a = hn::ShiftRight<16>(size), b = hn::And(size, low16u);
        const auto aa = hn::Mul(a, a), ab = hn::Mul(a, b), bb = hn::Mul(b, b);
        a_low = hn::Add(a_low, hn::And(aa, low16u));
        a_high = hn::Add(a_high, hn::ShiftRight<16>(aa));
        ab_low = hn::Add(ab_low, hn::And(ab, low16u));
        ab_high = hn::Add(ab_high, hn::ShiftRight<16>(ab));
        b_low = hn::Add(b_low, hn::And(bb, low16u));
        b_high = hn::Add(b_high, hn::ShiftRight<16>(bb));
      } else {
        const auto bb = hn::Mul(size, size);
        b_low = hn::Add(b_low, hn::And(bb, low16u));
        b_high = hn::Add(b_high, hn::ShiftRight<16>(bb));
      }
    }
  }
  std::uint32_t* const to_counted = sums.counted.data() + p;
  const auto all = hn::Set(du, static_cast<std::uint32_t>(count));
  hn::StoreU(hn::Add(hn::LoadU(du, to_counted), hn::Sub(all, masked)), du, to_counted);
  auto* const to_sum = reinterpret_cast<std::uint64_t*>(sums.sum.data() + p);
  if constexpr (kWide) {
    add_wide(d32, low, high, 16, to_sum);
  } else {
    add_wide(d32, hn::Zero(d32), low, 0, to_sum);
  }
  if constexpr (kMax) hn::StoreU(hn::BitCast(di, most), di, to_max);
  if constexpr (kSquares) {
    add_wide(du, b_low, b_high, 16, sums.squares[0].data() + p);
    if constexpr (kWide) {
      add_wide(du, ab_low, ab_high, 16, sums.squares[1].data() + p);
      add_wide(du, a_low, a_high, 16, sums.squares[2].data() + p);
    }
  }
}

template <typename T, bool kMax, bool kSquares>
void add_integers(Sums& sums, const std::byte* const* images, std::size_t count, std::size_t first, std::size_t last,
                  const PhotonRange& range) {
  const hn::ScalableTag<std::conditional_t<std::is_same_v<T, std::uint32_t>, std::uint32_t, std::int32_t>> d32;
  const std::size_t lanes = hn::Lanes(d32);
  const std::size_t vectors_end = first + (last - first) / lanes * lanes;
  for (std::size_t block = first; block < vectors_end; block += kBlock) {
    const std::size_t end = std::min(vectors_end, block + kBlock);
    for (std::size_t i = 0; i < count; i += kImages) {
      const std::size_t several = std::min(kImages, count - i);
      for (std::size_t p = block; p < end; p += lanes) {
        add_vector<T, kMax, kSquares>(d32, sums, images + i, several, p, static_cast<T>(range.least),
                                      static_cast<T>(range.most));
      }
    }
  }
  if (vectors_end < last) add_reference(sums, images, count, vectors_end, last);
}

/// Distances are taken from the mean of the images before, so that their squares stay small.
template <bool kMax, bool kSquares>
void add_reals(Sums& sums, const std::byte* const* images, std::size_t count, std::size_t first, std::size_t last) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t vectors_end = first + (last - first) / lanes * lanes;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0);
  const auto vector = [&](const std::byte* const* some, std::size_t several, std::size_t p) {
    auto* const to_counted = reinterpret_cast<std::int32_t*>(sums.counted.data() + p);
    auto n = hn::PromoteTo(d, hn::LoadU(di, to_counted));
    auto sum = hn::LoadU(d, sums.real_sum.data() + p);
    [[maybe_unused]] auto most = hn::Zero(df);
    [[maybe_unused]] auto base = zero, step = zero, squares = zero;
    [[maybe_unused]] auto known = hn::Gt(n, zero);
    if constexpr (kMax) most = hn::LoadU(df, sums.real_max.data() + p);
    if constexpr (kSquares) base = hn::LoadU(d, sums.real_mean.data() + p);
    for (std::size_t i = 0; i < several; ++i) {
      const auto narrow = hn::LoadU(df, reinterpret_cast<const float*>(some[i]) + p);
      const auto values = hn::PromoteTo(d, narrow);
      const auto counts = hn::Eq(values, values);  // not NaN
      n = hn::Add(n, hn::IfThenElseZero(counts, one));
      sum = hn::Add(sum, hn::IfThenElseZero(counts, values));
      if constexpr (kMax) most = hn::IfThenElse(hn::Gt(narrow, most), narrow, most);
      if constexpr (kSquares) {
        base = hn::IfThenElse(hn::AndNot(known, counts), values, base);
        known = hn::Or(known, counts);
        const auto distance = hn::IfThenElseZero(counts, hn::Sub(values, base));
        step = hn::Add(step, distance);
        squares = hn::Add(squares, hn::Mul(distance, distance));
      }
    }
    hn::StoreU(hn::DemoteTo(di, n), di, to_counted);
    hn::StoreU(sum, d, sums.real_sum.data() + p);
    if constexpr (kMax) hn::StoreU(most, df, sums.real_max.data() + p);
    if constexpr (kSquares) {
      const auto shift = hn::Div(step, hn::Max(n, one));
      hn::StoreU(hn::Add(base, shift), d, sums.real_mean.data() + p);
      const auto more = hn::Max(zero, hn::Sub(squares, hn::Mul(step, shift)));
      hn::StoreU(hn::Add(hn::LoadU(d, sums.real_squares.data() + p), more), d, sums.real_squares.data() + p);
    }
  };
  for (std::size_t block = first; block < vectors_end; block += kBlock) {
    const std::size_t end = std::min(vectors_end, block + kBlock);
    for (std::size_t i = 0; i < count; i += kImages) {
      for (std::size_t p = block; p < end; p += lanes) vector(images + i, std::min(kImages, count - i), p);
    }
  }
  if (vectors_end < last) add_reference(sums, images, count, vectors_end, last);
}

void add_impl(Sums& sums, const std::byte* const* images, std::size_t count, std::size_t first, std::size_t last) {
  const auto choose = [&](auto work) {
    if (sums.wants_max) {
      sums.wants_squares ? work(std::true_type(), std::true_type()) : work(std::true_type(), std::false_type());
    } else {
      sums.wants_squares ? work(std::false_type(), std::true_type()) : work(std::false_type(), std::false_type());
    }
  };
  if (sums.format.type == PixelType::f32) {
    return choose([&]<bool kMax, bool kSquares>(std::bool_constant<kMax>, std::bool_constant<kSquares>) {
      add_reals<kMax, kSquares>(sums, images, count, first, last);
    });
  }
  const PhotonRange range = photon_range(sums.format);
  with_type(sums.format.type, [&]<typename T>(T) {
    choose([&]<bool kMax, bool kSquares>(std::bool_constant<kMax>, std::bool_constant<kSquares>) {
      add_integers<T, kMax, kSquares>(sums, images, count, first, last, range);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::accumulate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::accumulate {

HWY_EXPORT(add_impl);

void add(Sums& sums, const std::byte* const* images, std::size_t count, std::size_t first, std::size_t last) noexcept {
  HWY_DYNAMIC_DISPATCH(add_impl)(sums, images, count, first, last);
}

}  // namespace rashpa::kernel::accumulate
#endif  // HWY_ONCE
