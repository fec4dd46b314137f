// SPDX-License-Identifier: Apache-2.0
/// The arithmetic of `jungfrau` on one vector of pixels, and on a block of pixels. jungfrau_simd.cpp compiles it once
/// for each instruction set.
#if defined(RASHPA_JUNGFRAU_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RASHPA_JUNGFRAU_VECTORS_INL
#undef RASHPA_JUNGFRAU_VECTORS_INL
#else
#define RASHPA_JUNGFRAU_VECTORS_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::jungfrau {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A vector of 16-bit words is seen as 32-bit lanes, each an even pixel (low half) and an odd one (high half): widening
// and narrowing need no lane crossing, and the calibration's order does not depend on the vector width.
using Words = hn::ScalableTag<std::uint16_t>;
using Photons = hn::ScalableTag<std::int16_t>;
using Wide = hn::Repartition<std::uint32_t, Words>;
using WideSigned = hn::Repartition<std::int32_t, Words>;
using Float = hn::Repartition<float, Words>;
using WordVector = hn::Vec<Words>;
using PhotonVector = hn::Vec<Photons>;
using WideVector = hn::Vec<Wide>;
using FloatVector = hn::Vec<Float>;

/// The pedestals and factors of one vector of pixels.
struct Constants {
  FloatVector pedestal_even, pedestal_odd, factor_even, factor_odd;
};

HWY_INLINE Constants load_constants(const float* HWY_RESTRICT table, std::size_t pixel) {
  const Float d;
  const float* at = table + pixel / 2;
  return {hn::LoadU(d, at), hn::LoadU(d, at + kGroup / 2), hn::LoadU(d, at + kGroup),
          hn::LoadU(d, at + kGroup + kGroup / 2)};
}

HWY_INLINE WideVector even_of(WordVector words) { return hn::And(hn::BitCast(Wide(), words), hn::Set(Wide(), 0xFFFF)); }
HWY_INLINE WideVector odd_of(WordVector words) { return hn::ShiftRight<16>(hn::BitCast(Wide(), words)); }

HWY_INLINE FloatVector corrected(WideVector adu, FloatVector pedestal, FloatVector factor) {
  return hn::Mul(hn::Sub(hn::ConvertTo(Float(), hn::BitCast(WideSigned(), adu)), pedestal), factor);
}

/// Rounds the even and odd pixels and interleaves them again.
HWY_INLINE PhotonVector rounded(FloatVector even, FloatVector odd) {
  const auto magic = hn::Set(Float(), kRoundingMagic);
  const auto low = hn::BitCast(Words(), hn::Add(even, magic));
  const auto high = hn::BitCast(Words(), hn::ShiftLeft<16>(hn::BitCast(Wide(), hn::Add(odd, magic))));
  return hn::BitCast(Photons(), hn::OddEven(high, low));
}

/// Half a vector in any gain, with constants chosen by the gain code. Code 2 gives a value that is replaced later.
struct Chosen {
  FloatVector value;
  FloatVector pedestal;
};
HWY_INLINE Chosen choose(WideVector words, FloatVector p0, FloatVector p1, FloatVector p2, FloatVector s0,
                         FloatVector s1, FloatVector s2) {
  const Float d;
  const auto code = hn::ShiftRight<14>(words);
  const auto is1 = hn::RebindMask(d, hn::Eq(code, hn::Set(Wide(), 1)));
  const auto is3 = hn::RebindMask(d, hn::Eq(code, hn::Set(Wide(), 3)));
  const auto pedestal = hn::IfThenElse(is3, p2, hn::IfThenElse(is1, p1, p0));
  const auto factor = hn::IfThenElse(is3, s2, hn::IfThenElse(is1, s1, s0));
  return {corrected(hn::And(words, hn::Set(Wide(), kAduMask)), pedestal, factor), pedestal};
}

HWY_INLINE FloatVector clamped(const Chosen& chosen) {
  const Float d;
  const auto inside = hn::Min(hn::Max(chosen.value, hn::Set(d, kSmallestPhotons)), hn::Set(d, kLargestPhotons));
  return hn::IfThenElse(hn::Gt(chosen.pedestal, hn::Set(d, kMaskedAbove)),
                        hn::Set(d, static_cast<float>(kMaskedPhotons)), inside);
}

/// Reads tables of G1 and G2 only where words need them; most switched pixels are in G1.
struct Halves {
  Chosen even, odd;
};
HWY_INLINE Halves choose_both(WordVector words, const Constants& g0, const float* t1, const float* t2,
                              std::size_t pixel) {
  const Words d;
  const Constants g1 = load_constants(t1, pixel);
  Constants g2 = g1;
  const auto high = hn::Set(d, 0x8000);
  if (!hn::AllTrue(d, hn::Eq(hn::And(words, high), hn::Zero(d)))) g2 = load_constants(t2, pixel);
  return {choose(even_of(words), g0.pedestal_even, g1.pedestal_even, g2.pedestal_even, g0.factor_even, g1.factor_even,
                 g2.factor_even),
          choose(odd_of(words), g0.pedestal_odd, g1.pedestal_odd, g2.pedestal_odd, g0.factor_odd, g1.factor_odd,
                 g2.factor_odd)};
}

/// Returns a mask of the words that have no value under any calibration.
template <class D>
HWY_INLINE auto unreadable(D d, hn::Vec<D> words) {
  const auto illegal = hn::Eq(hn::And(words, hn::Set(d, kGainMask)), hn::Set(d, 0x8000));
  return hn::Or(illegal,
                hn::Or(hn::Eq(words, hn::Set(d, kReadoutErrorOnes)), hn::Eq(words, hn::Set(d, kReadoutErrorG1))));
}

/// Converts any words by the whole decode table. `counts.masked` grows by the masked pixels beyond the `invalid` ones
/// of G0, which the caller counts for the block.
HWY_INLINE PhotonVector photons_any(WordVector words, const Constants& g0, const float* t1, const float* t2,
                                    std::size_t pixel, Counts& counts) {
  const Words d;
  const Photons di;
  const Halves halves = choose_both(words, g0, t1, t2, pixel);
  const PhotonVector photons = rounded(clamped(halves.even), clamped(halves.odd));
  const auto masked = hn::Or(unreadable(d, words), hn::RebindMask(d, hn::Eq(photons, hn::Set(di, kMaskedPhotons))));
  const auto saturated = hn::AndNot(masked, hn::Eq(words, hn::Set(d, kOverflow)));
  counts.masked += static_cast<std::uint32_t>(hn::CountTrue(d, masked));
  counts.saturated += static_cast<std::uint32_t>(hn::CountTrue(d, saturated));
  const auto unmasked = hn::IfThenElse(hn::RebindMask(di, saturated), hn::Set(di, kSaturatedPhotons), photons);
  return hn::IfThenElse(hn::RebindMask(di, masked), hn::Set(di, kMaskedPhotons), unmasked);
}

HWY_INLINE FloatVector kev_any(WideVector words, FloatVector value, Counts& counts) {
  const Float d;
  const Wide dw;
  const auto masked = hn::Or(hn::RebindMask(d, unreadable(dw, words)), hn::IsNaN(value));
  const auto saturated = hn::AndNot(masked, hn::RebindMask(d, hn::Eq(words, hn::Set(dw, kOverflow))));
  counts.masked += static_cast<std::uint32_t>(hn::CountTrue(d, masked));
  counts.saturated += static_cast<std::uint32_t>(hn::CountTrue(d, saturated));
  const auto unmasked = hn::IfThenElse(saturated, hn::Set(d, std::numeric_limits<float>::infinity()), value);
  return hn::IfThenElse(masked, hn::Set(d, std::numeric_limits<float>::quiet_NaN()), unmasked);
}

/// The pixels of a block. Calibration, raw words and photons of two images' blocks fit into the second-level cache.
constexpr std::size_t kBlock = 8192;

/// The number of raw pixels to prefetch ahead; the machine's own prefetch stops at the end of each page.
constexpr std::size_t kPixelsAhead = 256;
constexpr std::size_t kLinePixels = 64 / sizeof(std::uint16_t);

/// One image's part of a block, as pointers to the first pixel of the block.
struct Part {
  const std::uint16_t* raw;
  void* out;
  std::uint64_t* marks;
  Counts* counts;
};

struct Block {
  const Prepared* calibration;
  std::size_t group;   // first
  std::size_t groups;  // how many, kBlock / kGroup at most
  Taps taps;           // thresholds above INT16_MIN, so that masked pixels stay below
  bool stream;
  bool wild;  // a group of the block is
};

/// The vectors of one image's block that need the whole decode table.
struct Switched {
  std::uint16_t at[kBlock / 8];  // first pixel of the vector
  std::size_t count;
};

HWY_INLINE std::uint32_t invalid_in(std::uint64_t bits, std::size_t pixel) {
  const std::size_t lanes = hn::Lanes(Words());
  const std::uint64_t some = lanes >= 64 ? bits : (bits >> pixel) & ((std::uint64_t{1} << (lanes % 64)) - 1);
  return static_cast<std::uint32_t>(std::popcount(some));
}

HWY_INLINE PhotonVector g0_photons(WordVector words, const Constants& g0) {
  return rounded(corrected(even_of(words), g0.pedestal_even, g0.factor_even),
                 corrected(odd_of(words), g0.pedestal_odd, g0.factor_odd));
}

HWY_INLINE void store_g0(WordVector words, const Constants& g0, std::int16_t* to) {
  hn::Store(g0_photons(words, g0), Photons(), to);
}
HWY_INLINE void store_g0(WordVector words, const Constants& g0, float* to) {
  hn::StoreInterleaved2(corrected(even_of(words), g0.pedestal_even, g0.factor_even),
                        corrected(odd_of(words), g0.pedestal_odd, g0.factor_odd), Float(), to);
}

HWY_INLINE void store_any(WordVector words, const Constants& g0, const float* t1, const float* t2, std::size_t pixel,
                          Counts& counts, std::int16_t* to) {
  hn::Store(photons_any(words, g0, t1, t2, pixel, counts), Photons(), to);
}
HWY_INLINE void store_any(WordVector words, const Constants& g0, const float* t1, const float* t2, std::size_t pixel,
                          Counts& counts, float* to) {
  const Halves halves = choose_both(words, g0, t1, t2, pixel);
  const auto even = kev_any(even_of(words), halves.even.value, counts);
  const auto odd = kev_any(odd_of(words), halves.odd.value, counts);
  hn::StoreInterleaved2(even, odd, Float(), to);
}

HWY_INLINE void prefetch(const float* table, std::size_t pixel) {
  for (std::size_t line = 0; line < 4; ++line) hwy::Prefetch(table + pixel / 2 + line * (kGroup / 2));
}

/// Calls `put(words, g0, t1, t2, at, counts)` for each listed vector, and prefetches G1's tables.
template <class Put>
void revisit(const Block& block, const Part& part, const Switched& switched, Put put) {
  constexpr std::size_t kAhead = 8;  // the tables of G1 are read here and there
  const Prepared& calibration = *block.calibration;
  const auto ask = [&](std::size_t entry) {
    const std::size_t at = switched.at[entry];
    prefetch(calibration.table(1, block.group + at / kGroup), at % kGroup);
  };
  for (std::size_t entry = 0; entry < std::min(kAhead, switched.count); ++entry) ask(entry);
  Counts counts{};
  for (std::size_t entry = 0; entry < switched.count; ++entry) {
    if (entry + kAhead < switched.count) ask(entry + kAhead);
    const std::size_t at = switched.at[entry];
    const std::size_t group = block.group + at / kGroup;
    put(hn::LoadU(Words(), part.raw + at), load_constants(calibration.table(0, group), at % kGroup),
        calibration.table(1, group), calibration.table(2, group), at, counts);
    counts.masked -= invalid_in(calibration.invalid_g0(group), at % kGroup);
  }
  part.counts->masked += counts.masked;
  part.counts->saturated += counts.saturated;
  part.counts->bright += counts.bright;
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::jungfrau
HWY_AFTER_NAMESPACE();

#endif
