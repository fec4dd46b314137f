// SPDX-License-Identifier: Apache-2.0
/// Three passes over a block through a buffer in the first-level cache, for vectors whose results are shorter than a
/// cache line. jungfrau_simd.cpp compiles it once for each instruction set.
#if defined(RASHPA_JUNGFRAU_STAGED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RASHPA_JUNGFRAU_STAGED_INL
#undef RASHPA_JUNGFRAU_STAGED_INL
#else
#define RASHPA_JUNGFRAU_STAGED_INL
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "rashpa/kernel/jungfrau/vectors/jungfrau_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::jungfrau {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The buffer of results of one image's block, which stays in the first-level cache.
template <class T>
struct Stage {
  HWY_ALIGN T pixels[kBlock];
  Switched switched;
};

/// First pass: converts all words as if in G0 and lists the vectors with other words. It has no branch on the data, and
/// processes two images at once to load the calibration once.
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
      // both are loaded before the first is stored (jungfrau_lines-inl.hpp says why)
      WordVector words = hn::LoadU(d, parts[0].raw + at);
      const WordVector others = hn::LoadU(d, parts[kImages - 1].raw + at);
      if (v % kLinePixels == 0) {
        for (std::size_t i = 0; i < kImages; ++i) hwy::Prefetch(parts[i].raw + at + kPixelsAhead);
      }
      for (std::size_t i = 0; i < kImages; ++i) {
        store_g0(words, g0, stages[i].pixels + at);
        const bool switched = !hn::AllTrue(d, hn::Eq(hn::And(words, gain_bits), hn::Zero(d)));
        stages[i].switched.at[count[i]] = static_cast<std::uint16_t>(at);
        count[i] += static_cast<std::size_t>(switched);
        words = others;
      }
    }
  }
  for (std::size_t i = 0; i < kImages; ++i) stages[i].switched.count = count[i];
}

/// Second pass: converts the listed vectors again.
template <class T>
void second_pass(const Block& block, const Part& part, Stage<T>& stage) {
  revisit(block, part, stage.switched,
          [&](WordVector words, const Constants& g0, const float* t1, const float* t2, std::size_t at, Counts& counts) {
            store_any(words, g0, t1, t2, at % kGroup, counts, stage.pixels + at);
          });
}

/// Third pass: writes whole cache lines out of the cache, past the caches where possible, and counts and marks on the
/// way.
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

/// Lists all vectors, because a G0 word can leave the int16 range and the second pass clamps.
template <class T>
void list_all(const Block& block, Stage<T>& stage) {
  stage.switched.count = 0;
  for (std::size_t at = 0; at < block.groups * kGroup; at += hn::Lanes(Words())) {
    stage.switched.at[stage.switched.count++] = static_cast<std::uint16_t>(at);
  }
}

template <class T>
void convert_staged(const Block& block, const Part* parts, std::size_t count) {
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

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::jungfrau
HWY_AFTER_NAMESPACE();

#endif
