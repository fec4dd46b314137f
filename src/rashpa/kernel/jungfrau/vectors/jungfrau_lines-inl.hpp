// SPDX-License-Identifier: Apache-2.0
/// Two passes over a block that write past the caches, for vectors whose results are whole cache lines.
/// jungfrau_simd.cpp compiles it once for each instruction set.
#if defined(RASHPA_JUNGFRAU_LINES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RASHPA_JUNGFRAU_LINES_INL
#undef RASHPA_JUNGFRAU_LINES_INL
#else
#define RASHPA_JUNGFRAU_LINES_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "rashpa/kernel/jungfrau/vectors/jungfrau_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::jungfrau {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Returns true when the results of a vector of words are whole cache lines, so that several images in turn can be
/// written past the caches.
template <class T>
constexpr bool whole_lines() {
#if HWY_HAVE_SCALABLE
  return false;
#else
  return hn::MaxLanes(Words()) * sizeof(T) % 64 == 0;
#endif
}

/// Counts and marks the photons of the vector at pixel `at`.
template <bool kCount, bool kMark>
HWY_INLINE std::uint32_t tap(const Block& block, const Part& part, PhotonVector photons, std::size_t at) {
  const Photons d;
  if constexpr (kMark) {
    const auto above = hn::Gt(photons, hn::Set(d, static_cast<std::int16_t>(block.taps.mark_threshold - 1)));
    hn::StoreMaskBits(d, above, reinterpret_cast<std::uint8_t*>(part.marks) + at / 8);
  }
  if constexpr (!kCount) return 0;
  const auto bright = hn::Gt(photons, hn::Set(d, static_cast<std::int16_t>(block.taps.bright_threshold - 1)));
  return static_cast<std::uint32_t>(hn::CountTrue(d, bright));
}

/// Converts the vector at pixel `at` of one image as if in G0, and writes it past the caches.
template <bool kCount, bool kMark>
HWY_INLINE std::uint32_t stream_g0(const Block& block, const Part& part, WordVector words, const Constants& g0,
                                   std::size_t at, std::int16_t* out) {
  const PhotonVector photons = g0_photons(words, g0);
  hn::Stream(photons, Photons(), out + at);
  return tap<kCount, kMark>(block, part, photons, at);
}
HWY_INLINE void stream_pairs(const float* pairs, float* out) {
  const Float d;
  for (std::size_t i = 0; i < 2; ++i) hn::Stream(hn::Load(d, pairs + i * hn::Lanes(d)), d, out + i * hn::Lanes(d));
}
template <bool kCount, bool kMark>
HWY_INLINE std::uint32_t stream_g0(const Block&, const Part&, WordVector words, const Constants& g0, std::size_t at,
                                   float* out) {
  HWY_ALIGN float pairs[hn::MaxLanes(Words())];
  store_g0(words, g0, pairs);
  stream_pairs(pairs, out + at);
  return 0;
}

/// Converts all words as if in G0, without a branch on the data. Vectors with other words are listed and not counted.
template <std::size_t kImages, bool kCount, bool kMark, class T>
HWY_INLINE void stream_pass(const Block& block, const Part* parts, Switched* switched) {
  const Words d;
  const std::size_t lanes = hn::Lanes(d);
  const auto gain_bits = hn::Set(d, kGainMask);
  std::size_t count[kImages] = {};
  std::uint32_t bright[kImages] = {};
  const std::uint16_t* raw[kImages];
  T* out[kImages];
  for (std::size_t i = 0; i < kImages; ++i) {
    raw[i] = parts[i].raw;
    out[i] = static_cast<T*>(parts[i].out);
  }
  for (std::size_t g = 0; g < block.groups; ++g) {
    const float* HWY_RESTRICT t0 = block.calibration->table(0, block.group + g);
    for (std::size_t v = 0; v < kGroup; v += lanes) {
      const std::size_t at = g * kGroup + v;
      const Constants g0 = load_constants(t0, v);
      // All are loaded before the first is stored: images often lie a multiple of 4 KiB apart, and a load waits for an
      // earlier store whose address has the same low 12 bits.
      WordVector words[kImages];
      for (std::size_t i = 0; i < kImages; ++i) {
        words[i] = hn::LoadU(d, raw[i] + at);
        if (v % kLinePixels == 0) hwy::Prefetch(raw[i] + at + kPixelsAhead);
      }
      for (std::size_t i = 0; i < kImages; ++i) {
        const auto other = static_cast<std::size_t>(!hn::AllTrue(d, hn::Eq(hn::And(words[i], gain_bits), hn::Zero(d))));
        const std::uint32_t some = stream_g0<kCount, kMark>(block, parts[i], words[i], g0, at, out[i]);
        if constexpr (kCount) bright[i] += some & (static_cast<std::uint32_t>(other) - 1);
        switched[i].at[count[i]] = static_cast<std::uint16_t>(at);
        count[i] += other;
      }
    }
  }
  for (std::size_t i = 0; i < kImages; ++i) {
    switched[i].count = count[i];
    parts[i].counts->bright += bright[i];
  }
}

/// Converts the listed vectors again and overwrites their lines.
template <bool kCount, bool kMark>
void stream_again(const Block& block, const Part& part, const Switched& switched, std::int16_t* out) {
  revisit(block, part, switched,
          [&](WordVector words, const Constants& g0, const float* t1, const float* t2, std::size_t at, Counts& counts) {
            const PhotonVector photons = photons_any(words, g0, t1, t2, at % kGroup, counts);
            hn::Stream(photons, Photons(), out + at);
            counts.bright += tap<kCount, kMark>(block, part, photons, at);
          });
}
template <bool kCount, bool kMark>
void stream_again(const Block& block, const Part& part, const Switched& switched, float* out) {
  revisit(block, part, switched,
          [&](WordVector words, const Constants& g0, const float* t1, const float* t2, std::size_t at, Counts& counts) {
            HWY_ALIGN float pairs[hn::MaxLanes(Words())];
            store_any(words, g0, t1, t2, at % kGroup, counts, pairs);
            stream_pairs(pairs, out + at);
          });
}

template <bool kCount, bool kMark, class T>
void convert_lines(const Block& block, const Part* parts, std::size_t count) {
  constexpr std::size_t kTogether = 4;  // images that share what is loaded of the calibration
  Switched switched[kTogether];
  for (std::size_t i = 0; i < count;) {
    const std::size_t images = count - i >= kTogether ? kTogether : count - i >= 2 ? 2 : 1;
    if (images == kTogether) {
      stream_pass<kTogether, kCount, kMark, T>(block, parts + i, switched);
    } else if (images == 2) {
      stream_pass<2, kCount, kMark, T>(block, parts + i, switched);
    } else {
      stream_pass<1, kCount, kMark, T>(block, parts + i, switched);
    }
    for (std::size_t j = 0; j < images; ++j) {
      stream_again<kCount, kMark>(block, parts[i + j], switched[j], static_cast<T*>(parts[i + j].out));
    }
    i += images;
  }
}

template <class T>
void convert_lines(const Block& block, const Part* parts, std::size_t count) {
  if constexpr (sizeof(T) == sizeof(float)) return convert_lines<false, false, T>(block, parts, count);
  if (block.taps.mark) {
    block.taps.count ? convert_lines<true, true, T>(block, parts, count)
                     : convert_lines<false, true, T>(block, parts, count);
  } else {
    block.taps.count ? convert_lines<true, false, T>(block, parts, count)
                     : convert_lines<false, false, T>(block, parts, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::jungfrau
HWY_AFTER_NAMESPACE();

#endif
