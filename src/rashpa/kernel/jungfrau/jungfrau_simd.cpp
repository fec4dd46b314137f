#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "rashpa/core/fill.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/jungfrau/jungfrau_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

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

/// Pixels between two changes of image: calibration, raw words and photons of two images stay in the second-level
/// cache.
constexpr std::size_t kBlock = 8192;

/// Pedestals and factors of one vector of pixels.
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

/// Rounds both halves and interleaves them again.
HWY_INLINE PhotonVector rounded(FloatVector even, FloatVector odd) {
  const auto magic = hn::Set(Float(), kRoundingMagic);
  const auto low = hn::BitCast(Words(), hn::Add(even, magic));
  const auto high = hn::BitCast(Words(), hn::ShiftLeft<16>(hn::BitCast(Wide(), hn::Add(odd, magic))));
  return hn::BitCast(Photons(), hn::OddEven(high, low));
}

/// What the pixels are when all words are in G0 and no result can leave the int16 range.
HWY_INLINE PhotonVector photons_g0(WordVector words, const Constants& g0) {
  return rounded(corrected(even_of(words), g0.pedestal_even, g0.factor_even),
                 corrected(odd_of(words), g0.pedestal_odd, g0.factor_odd));
}

/// One half in any gain: constants chosen by code; code 2 computes something that nobody sees.
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

/// Reads tables of G1 and G2 only where the words ask for them: most switched pixels are in G1.
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

/// The words that hold no value whatever the calibration says.
template <class D>
HWY_INLINE auto unreadable(D d, hn::Vec<D> words) {
  const auto illegal = hn::Eq(hn::And(words, hn::Set(d, kGainMask)), hn::Set(d, 0x8000));
  return hn::Or(illegal,
                hn::Or(hn::Eq(words, hn::Set(d, kReadoutErrorOnes)), hn::Eq(words, hn::Set(d, kReadoutErrorG1))));
}

/// Any words, every row of the decode table. `counts.masked` grows by the masked pixels beyond those that are invalid
/// in G0
/// (`invalid`: how many), which the caller counts by the block.
HWY_INLINE PhotonVector photons_any(WordVector words, const Constants& g0, const float* t1, const float* t2,
                                    std::size_t pixel, std::uint32_t invalid, Counts& counts) {
  const Words d;
  const Photons di;
  const Halves halves = choose_both(words, g0, t1, t2, pixel);
  const PhotonVector photons = rounded(clamped(halves.even), clamped(halves.odd));
  const auto masked = hn::Or(unreadable(d, words), hn::RebindMask(d, hn::Eq(photons, hn::Set(di, kMaskedPhotons))));
  const auto saturated = hn::AndNot(masked, hn::Eq(words, hn::Set(d, kOverflow)));
  counts.masked += static_cast<std::uint32_t>(hn::CountTrue(d, masked)) - invalid;
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

/// One image's part of a run of groups: pointers to the first pixel of the run.
struct Part {
  const std::uint16_t* raw;
  void* out;
  std::uint64_t* marks;
  Counts* counts;
};

struct Run {
  const Prepared* calibration;
  std::size_t group;   // first
  std::size_t groups;  // how many
  Taps taps;           // thresholds above INT16_MIN, so that masked pixels stay below
  bool stream;
};

HWY_INLINE std::uint32_t invalid_in(std::uint64_t bits, std::size_t pixel) {
  const std::size_t lanes = hn::Lanes(Words());
  const std::uint64_t some = lanes >= 64 ? bits : (bits >> pixel) & ((std::uint64_t{1} << (lanes % 64)) - 1);
  return static_cast<std::uint32_t>(std::popcount(some));
}

template <std::size_t kImages, bool kCount, bool kMark>
void photons_run(const Run& run, const Part* parts) {
  const Words d;
  const Photons di;
  const std::size_t lanes = hn::Lanes(d);
  const auto bright = hn::Set(di, static_cast<std::int16_t>(run.taps.bright_threshold - 1));
  const auto marked = hn::Set(di, static_cast<std::int16_t>(run.taps.mark_threshold - 1));
  const auto gain_bits = hn::Set(d, kGainMask);
  PhotonVector counted0 = hn::Zero(di);
  PhotonVector counted1 = hn::Zero(di);
  Counts counts[kImages] = {};
  for (std::size_t g = 0; g < run.groups; ++g) {
    const std::size_t group = run.group + g;
    const float* HWY_RESTRICT t0 = run.calibration->table(0, group);
    const std::uint64_t invalid = run.calibration->invalid_g0(group);
    const bool wild = run.calibration->wild(group);
    for (std::size_t v = 0; v < kGroup; v += lanes) {
      const std::size_t at = g * kGroup + v;
      const Constants g0 = load_constants(t0, v);
      WordVector words[kImages];
      PhotonVector photons[kImages];
      for (std::size_t i = 0; i < kImages; ++i) words[i] = hn::LoadU(d, parts[i].raw + at);
      const auto any = kImages == 2 ? hn::Or(words[0], words[kImages - 1]) : words[0];
      if (HWY_LIKELY(hn::AllTrue(d, hn::Eq(hn::And(any, gain_bits), hn::Zero(d))) && !wild)) {
        for (std::size_t i = 0; i < kImages; ++i) photons[i] = photons_g0(words[i], g0);
      } else {
        const float* t1 = run.calibration->table(1, group);
        const float* t2 = run.calibration->table(2, group);
        for (std::size_t i = 0; i < kImages; ++i) {
          photons[i] = photons_any(words[i], g0, t1, t2, v, invalid_in(invalid, v), counts[i]);
        }
      }
      for (std::size_t i = 0; i < kImages; ++i) {
        std::int16_t* out = static_cast<std::int16_t*>(parts[i].out) + at;
        if (run.stream) {
          hn::Stream(photons[i], di, out);
        } else {
          hn::StoreU(photons[i], di, out);
        }
        if constexpr (kCount) {
          PhotonVector& counted = i == 0 ? counted0 : counted1;
          counted = hn::Sub(counted, hn::VecFromMask(di, hn::Gt(photons[i], bright)));
        }
        if constexpr (kMark) {
          hn::StoreMaskBits(di, hn::Gt(photons[i], marked), reinterpret_cast<std::uint8_t*>(parts[i].marks) + at / 8);
        }
      }
    }
  }
  for (std::size_t i = 0; i < kImages; ++i) {
    HWY_ALIGN std::int16_t lane[hn::MaxLanes(di)];
    hn::Store(i == 0 ? counted0 : counted1, di, lane);
    for (std::size_t l = 0; l < lanes; ++l) counts[i].bright += static_cast<std::uint32_t>(lane[l]);
    parts[i].counts->masked += counts[i].masked;
    parts[i].counts->saturated += counts[i].saturated;
    parts[i].counts->bright += counts[i].bright;
  }
}

/// keV of one image. Counts every masked pixel of the run.
void kev_run(const Run& run, const Part* part) {
  const Words d;
  const Float df;
  const std::size_t lanes = hn::Lanes(d);
  Counts counts{};
  for (std::size_t g = 0; g < run.groups; ++g) {
    const std::size_t group = run.group + g;
    const float* HWY_RESTRICT t0 = run.calibration->table(0, group);
    const std::uint64_t invalid = run.calibration->invalid_g0(group);
    for (std::size_t v = 0; v < kGroup; v += lanes) {
      const std::size_t at = g * kGroup + v;
      const Constants g0 = load_constants(t0, v);
      const WordVector words = hn::LoadU(d, part->raw + at);
      FloatVector even, odd;
      if (HWY_LIKELY(hn::AllTrue(d, hn::Eq(hn::And(words, hn::Set(d, kGainMask)), hn::Zero(d))))) {
        even = corrected(even_of(words), g0.pedestal_even, g0.factor_even);
        odd = corrected(odd_of(words), g0.pedestal_odd, g0.factor_odd);
      } else {
        const Halves halves =
            choose_both(words, g0, run.calibration->table(1, group), run.calibration->table(2, group), v);
        even = kev_any(even_of(words), halves.even.value, counts);
        odd = kev_any(odd_of(words), halves.odd.value, counts);
        counts.masked -= invalid_in(invalid, v);
      }
      hn::StoreInterleaved2(even, odd, df, static_cast<float*>(part->out) + at);
    }
  }
  part->counts->masked += counts.masked;
  part->counts->saturated += counts.saturated;
}

template <bool kCount, bool kMark>
void photons_runs(const Run& run, const Part* parts, std::size_t count) {
  std::size_t i = 0;
  for (; i + 2 <= count; i += 2) photons_run<2, kCount, kMark>(run, parts + i);
  if (i < count) photons_run<1, kCount, kMark>(run, parts + i);
}

void runs(const Run& run, const Part* parts, std::size_t count) {
  if (run.calibration->output() == Output::kev) {
    for (std::size_t i = 0; i < count; ++i) kev_run(run, parts + i);
  } else if (run.taps.mark) {
    run.taps.count ? photons_runs<true, true>(run, parts, count) : photons_runs<false, true>(run, parts, count);
  } else {
    run.taps.count ? photons_runs<true, false>(run, parts, count) : photons_runs<false, false>(run, parts, count);
  }
}

Part part_of(const Images& images, std::size_t i, std::size_t pixel, std::size_t out_bytes, bool mark) {
  return {images.raw[i] + pixel, static_cast<std::byte*>(images.out[i]) + pixel * out_bytes,
          mark ? images.marks[i] + pixel / kGroup : nullptr, images.counts + i};
}

/// The last group of an image whose size is no multiple of kGroup, through a padded copy.
void tail(const Run& run, const Images& images, std::size_t first, std::size_t pixels, std::size_t out_bytes) {
  const std::uint64_t real = (std::uint64_t{1} << pixels) - 1;
  const auto invalid = static_cast<std::uint32_t>(std::popcount(run.calibration->invalid_g0(run.group) & real));
  for (std::size_t i = 0; i < images.count; ++i) {
    alignas(64) std::uint16_t raw[kGroup] = {};
    alignas(64) std::byte out[kGroup * sizeof(float)];
    Part part = part_of(images, i, first, out_bytes, run.taps.mark);
    void* destination = part.out;
    std::memcpy(raw, part.raw, pixels * sizeof(std::uint16_t));
    part.raw = raw;
    part.out = out;
    runs(run, &part, 1);
    part.counts->masked += invalid;
    std::memcpy(destination, out, pixels * out_bytes);
  }
}

void convert_impl(const Prepared& calibration, const Images& images, const Taps& taps, std::size_t first,
                  std::size_t last) {
  constexpr std::size_t kAtOnce = 16;  // images whose parts are kept on the stack
  const std::size_t out_bytes = calibration.output() == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  Run run{&calibration, 0, 0, taps, true};
  run.taps.bright_threshold = std::max<std::int16_t>(taps.bright_threshold, kMaskedPhotons + 1);
  run.taps.mark_threshold = std::max<std::int16_t>(taps.mark_threshold, kMaskedPhotons + 1);
  for (std::size_t i = 0; i < images.count; ++i) {
    if (reinterpret_cast<std::uintptr_t>(images.out[i]) % 64 != 0) run.stream = false;
  }
  const std::size_t whole = first + (last - first) / kGroup * kGroup;
  for (std::size_t begin = first; begin < whole; begin += kBlock) {
    run.group = begin / kGroup;
    run.groups = (std::min(begin + kBlock, whole) - begin) / kGroup;
    std::uint32_t invalid = 0;
    for (std::size_t g = 0; g < run.groups; ++g) {
      invalid += static_cast<std::uint32_t>(std::popcount(calibration.invalid_g0(run.group + g)));
    }
    for (std::size_t i = 0; i < images.count; i += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, images.count - i);
      Part parts[kAtOnce];
      for (std::size_t j = 0; j < count; ++j) {
        parts[j] = part_of(images, i + j, begin, out_bytes, taps.mark);
        parts[j].counts->masked += invalid;
      }
      runs(run, parts, count);
    }
  }
  if (run.stream) hwy::FlushStream();
  if (whole < last) {
    run.stream = false;
    run.group = whole / kGroup;
    run.groups = 1;
    tail(run, images, whole, last - whole, out_bytes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::jungfrau
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::jungfrau {

HWY_EXPORT(convert_impl);

void convert(const Prepared& calibration, const Images& images, const Taps& taps, std::size_t first,
             std::size_t last) noexcept {
  HWY_DYNAMIC_DISPATCH(convert_impl)(calibration, images, taps, first, last);
}

}  // namespace rashpa::kernel::jungfrau
#endif  // HWY_ONCE
