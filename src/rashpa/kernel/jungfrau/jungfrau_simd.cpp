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

/// One image's part of a block: pointers to the first pixel of the block.
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

/// Results of one image's block before they go out, in the first-level cache, and the vectors that need every row of
/// the table.
template <class T>
struct Stage {
  HWY_ALIGN T pixels[kBlock];
  std::uint16_t switched[kBlock / 8];  // first pixel of the vector
  std::size_t count;
};

HWY_INLINE std::uint32_t invalid_in(std::uint64_t bits, std::size_t pixel) {
  const std::size_t lanes = hn::Lanes(Words());
  const std::uint64_t some = lanes >= 64 ? bits : (bits >> pixel) & ((std::uint64_t{1} << (lanes % 64)) - 1);
  return static_cast<std::uint32_t>(std::popcount(some));
}

HWY_INLINE void store_g0(WordVector words, const Constants& g0, std::int16_t* to) {
  const auto photons = rounded(corrected(even_of(words), g0.pedestal_even, g0.factor_even),
                               corrected(odd_of(words), g0.pedestal_odd, g0.factor_odd));
  hn::Store(photons, Photons(), to);
}
HWY_INLINE void store_g0(WordVector words, const Constants& g0, float* to) {
  hn::StoreInterleaved2(corrected(even_of(words), g0.pedestal_even, g0.factor_even),
                        corrected(odd_of(words), g0.pedestal_odd, g0.factor_odd), Float(), to);
}

/// First pass: all words as if they were in G0, and a list of the vectors that are not. Without a branch on the data,
/// for two images at once, so that calibration is loaded once for both.
template <std::size_t kImages, class T>
HWY_INLINE void first_pass(const Block& block, const Part* parts, Stage<T>* stages) {
  const Words d;
  const std::size_t lanes = hn::Lanes(d);
  const auto gain_bits = hn::Set(d, kGainMask);
  std::size_t count[kImages] = {};
  for (std::size_t g = 0; g < block.groups; ++g) {
    const float* HWY_RESTRICT t0 = block.calibration->table(0, block.group + g);
    for (std::size_t v = 0; v < kGroup; v += lanes) {
      const std::size_t at = g * kGroup + v;
      const Constants g0 = load_constants(t0, v);
      for (std::size_t i = 0; i < kImages; ++i) {
        const auto words = hn::LoadU(d, parts[i].raw + at);
        store_g0(words, g0, stages[i].pixels + at);
        const bool switched = !hn::AllTrue(d, hn::Eq(hn::And(words, gain_bits), hn::Zero(d)));
        stages[i].switched[count[i]] = static_cast<std::uint16_t>(at);
        count[i] += static_cast<std::size_t>(switched);
      }
    }
  }
  for (std::size_t i = 0; i < kImages; ++i) stages[i].count = count[i];
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

/// Second pass: the listed vectors once more, every row of the decode table.
template <class T>
void second_pass(const Block& block, const Part& part, Stage<T>& stage) {
  constexpr std::size_t kAhead = 8;  // the tables of G1 are read here and there: asked for early
  const Prepared& calibration = *block.calibration;
  const auto ask = [&](std::size_t entry) {
    const std::size_t at = stage.switched[entry];
    prefetch(calibration.table(1, block.group + at / kGroup), at % kGroup);
  };
  for (std::size_t entry = 0; entry < std::min(kAhead, stage.count); ++entry) ask(entry);
  Counts counts{};
  for (std::size_t entry = 0; entry < stage.count; ++entry) {
    if (entry + kAhead < stage.count) ask(entry + kAhead);
    const std::size_t at = stage.switched[entry];
    const std::size_t group = block.group + at / kGroup;
    const std::size_t pixel = at % kGroup;
    store_any(hn::LoadU(Words(), part.raw + at), load_constants(calibration.table(0, group), pixel),
              calibration.table(1, group), calibration.table(2, group), pixel, counts, stage.pixels + at);
    counts.masked -= invalid_in(calibration.invalid_g0(group), pixel);
  }
  part.counts->masked += counts.masked;
  part.counts->saturated += counts.saturated;
}

/// Third pass: out of the cache, whole cache lines, past the caches where that is possible; count and marks on the way.
template <bool kCount, bool kMark, bool kStream>
void third_pass(const Block& block, const Part& part, const Stage<std::int16_t>& stage) {
  const Photons d;
  const std::size_t lanes = hn::Lanes(d);
  const auto bright = hn::Set(d, static_cast<std::int16_t>(block.taps.bright_threshold - 1));
  const auto marked = hn::Set(d, static_cast<std::int16_t>(block.taps.mark_threshold - 1));
  std::int16_t* out = static_cast<std::int16_t*>(part.out);
  auto* marks = reinterpret_cast<std::uint8_t*>(part.marks);
  auto counted = hn::Zero(d);
  for (std::size_t g = 0; g < block.groups; ++g) {
    for (std::size_t at = g * kGroup; at < (g + 1) * kGroup; at += lanes) {
      const auto photons = hn::Load(d, stage.pixels + at);
      if constexpr (kStream) {
        hn::Stream(photons, d, out + at);
      } else {
        hn::StoreU(photons, d, out + at);
      }
      if constexpr (kCount) counted = hn::Sub(counted, hn::VecFromMask(d, hn::Gt(photons, bright)));
      if constexpr (kMark) hn::StoreMaskBits(d, hn::Gt(photons, marked), marks + at / 8);
    }
  }
  if constexpr (kCount) {
    HWY_ALIGN std::int16_t lane[hn::MaxLanes(d)];
    hn::Store(counted, d, lane);
    for (std::size_t l = 0; l < lanes; ++l) part.counts->bright += static_cast<std::uint32_t>(lane[l]);
  }
}

template <bool kStream>
void finish(const Block& block, const Part& part, const Stage<std::int16_t>& stage) {
  if (block.taps.mark) {
    block.taps.count ? third_pass<true, true, kStream>(block, part, stage)
                     : third_pass<false, true, kStream>(block, part, stage);
  } else {
    block.taps.count ? third_pass<true, false, kStream>(block, part, stage)
                     : third_pass<false, false, kStream>(block, part, stage);
  }
}
template <bool kStream>
void finish(const Block& block, const Part& part, const Stage<float>& stage) {
  const Float d;
  float* out = static_cast<float*>(part.out);
  for (std::size_t at = 0; at < block.groups * kGroup; at += hn::Lanes(d)) {
    const auto kev = hn::Load(d, stage.pixels + at);
    if constexpr (kStream) {
      hn::Stream(kev, d, out + at);
    } else {
      hn::StoreU(kev, d, out + at);
    }
  }
}

/// Where a G0 word can leave the int16 range, the second pass clamps: every vector goes there.
template <class T>
void list_all(const Block& block, Stage<T>& stage) {
  stage.count = 0;
  for (std::size_t at = 0; at < block.groups * kGroup; at += hn::Lanes(Words())) {
    stage.switched[stage.count++] = static_cast<std::uint16_t>(at);
  }
}

template <class T>
void convert_block(const Block& block, const Part* parts, std::size_t count) {
  Stage<T> stages[2];
  for (std::size_t i = 0; i < count; i += 2) {
    const std::size_t images = std::min<std::size_t>(2, count - i);
    if (images == 2) {
      first_pass<2>(block, parts + i, stages);
    } else {
      first_pass<1>(block, parts + i, stages);
    }
    for (std::size_t j = 0; j < images; ++j) {
      if (block.wild) list_all(block, stages[j]);
      second_pass(block, parts[i + j], stages[j]);
      block.stream ? finish<true>(block, parts[i + j], stages[j]) : finish<false>(block, parts[i + j], stages[j]);
    }
  }
}

void convert_block(const Block& block, const Part* parts, std::size_t count) {
  if (block.calibration->output() == Output::kev) {
    convert_block<float>(block, parts, count);
  } else {
    convert_block<std::int16_t>(block, parts, count);
  }
}

Part part_of(const Images& images, std::size_t i, std::size_t pixel, std::size_t out_bytes, bool mark) {
  return {images.raw[i] + pixel, static_cast<std::byte*>(images.out[i]) + pixel * out_bytes,
          mark ? images.marks[i] + pixel / kGroup : nullptr, images.counts + i};
}

/// The last group of an image whose size is no multiple of kGroup, through a padded copy.
void convert_tail(const Block& block, const Images& images, std::size_t first, std::size_t pixels,
                  std::size_t out_bytes) {
  const std::uint64_t real = (std::uint64_t{1} << pixels) - 1;
  const auto invalid = static_cast<std::uint32_t>(std::popcount(block.calibration->invalid_g0(block.group) & real));
  for (std::size_t i = 0; i < images.count; ++i) {
    alignas(64) std::uint16_t raw[kGroup] = {};
    alignas(64) std::byte out[kGroup * sizeof(float)];
    Part part = part_of(images, i, first, out_bytes, block.taps.mark);
    void* destination = part.out;
    std::memcpy(raw, part.raw, pixels * sizeof(std::uint16_t));
    part.raw = raw;
    part.out = out;
    convert_block(block, &part, 1);
    part.counts->masked += invalid;
    std::memcpy(destination, out, pixels * out_bytes);
  }
}

void convert_impl(const Prepared& calibration, const Images& images, const Taps& taps, std::size_t first,
                  std::size_t last) {
  constexpr std::size_t kAtOnce = 16;  // images whose parts are kept on the stack
  const std::size_t out_bytes = calibration.output() == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  Block block{&calibration, 0, 0, taps, true, false};
  block.taps.bright_threshold = std::max<std::int16_t>(taps.bright_threshold, kMaskedPhotons + 1);
  block.taps.mark_threshold = std::max<std::int16_t>(taps.mark_threshold, kMaskedPhotons + 1);
  for (std::size_t i = 0; i < images.count; ++i) {
    if (reinterpret_cast<std::uintptr_t>(images.out[i]) % 64 != 0) block.stream = false;
  }
  const std::size_t whole = first + (last - first) / kGroup * kGroup;
  for (std::size_t begin = first; begin < whole; begin += kBlock) {
    block.group = begin / kGroup;
    block.groups = (std::min(begin + kBlock, whole) - begin) / kGroup;
    std::uint32_t invalid = 0;
    block.wild = false;
    for (std::size_t g = 0; g < block.groups; ++g) {
      block.wild = block.wild || calibration.wild(block.group + g);
      invalid += static_cast<std::uint32_t>(std::popcount(calibration.invalid_g0(block.group + g)));
    }
    for (std::size_t i = 0; i < images.count; i += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, images.count - i);
      Part parts[kAtOnce];
      for (std::size_t j = 0; j < count; ++j) {
        parts[j] = part_of(images, i + j, begin, out_bytes, taps.mark);
        parts[j].counts->masked += invalid;
      }
      convert_block(block, parts, count);
    }
  }
  if (block.stream) hwy::FlushStream();
  if (whole < last) {
    block.stream = false;
    block.group = whole / kGroup;
    block.groups = 1;
    block.wild = calibration.wild(block.group);
    convert_tail(block, images, whole, last - whole, out_bytes);
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
