// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The conversion by one thread: eight pixels of one image, from registers to registers. It serves all kernels that
/// convert, over a stack (jungfrau.cu) or resident. Results equal the reference bit for bit, since each operation
/// rounds separately (__fsub_rn and __fmul_rn are never contracted).
#include <cuda_runtime.h>

#include <cstdint>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"

namespace rashpa::kernel::jungfrau::cuda {

inline constexpr std::uint32_t kThreadPixels = 8;
inline constexpr std::uint32_t kWarpPixels = 32 * kThreadPixels;

/// The places of a thread's eight pixels: two runs of four. For photons they are adjacent, so raw words and photons
/// move as 16 bytes. For keV they are 128 pixels apart, so the 16 bytes of four values adjoin those of the next thread.
struct Place {
  std::uint32_t first;
  std::uint32_t second;
};

/// Returns the place of thread `thread`, counted over the whole image.
template <Output kOutput>
__device__ __forceinline__ Place place_of(std::uint32_t thread) {
  if constexpr (kOutput == Output::photons) return {thread * kThreadPixels, thread * kThreadPixels + 4};
  const std::uint32_t first = thread / 32 * kWarpPixels + thread % 32 * 4;
  return {first, first + kWarpPixels / 2};
}

__device__ __forceinline__ std::uint32_t pixel_of(Place place, unsigned k) {
  return k < 4 ? place.first + k : place.second + k - 4;
}

/// The calibration of a thread's pixels, kept over a stack. Bit k of a mask is pixel_of(place, k).
struct Entries {
  float pedestal[kThreadPixels];
  float factor[kThreadPixels];
  std::uint32_t real;     ///< pixels inside the image
  std::uint32_t wild;     ///< pixels whose G0 words can leave int16
  std::uint32_t masked;   ///< pixels inside the image without valid calibration in G0
  std::uint32_t invalid;  ///< number of pixels in `masked`
};

inline constexpr std::uint32_t kNotANumber = 0x7FC00000;  // as the reference has it
inline constexpr std::uint32_t kInfinity = 0x7F800000;
inline constexpr std::int32_t kZeroPhotons = 0x4B400000;  // kRoundingMagic; every photon is one more in the last place

/// The thresholds in the form of the rounded sum: comparing its bits compares photons.
struct Thresholds {
  std::int32_t bright;
  std::int32_t mark;
};

__host__ __device__ inline Thresholds thresholds_of(const Taps& taps) {
  // Masked pixels stay below every threshold.
  const auto bits = [](std::int16_t threshold) {
    return kZeroPhotons + (threshold > kMaskedPhotons ? threshold : kMaskedPhotons + 1);
  };
  return {bits(taps.bright_threshold), bits(taps.mark_threshold)};
}

/// The eight converted pixels of one image, ready to be stored, with their counts.
template <Output kOutput>
struct Converted;
template <>
struct Converted<Output::photons> {
  uint4 photons;            ///< eight int16
  std::uint32_t bright;     ///< with kCount: mask of bright pixels
  std::uint32_t marks;      ///< with kMark: mask of marked pixels
  std::int32_t masked;      ///< number of masked pixels beyond Entries::invalid
  std::uint32_t saturated;  ///< number of saturated pixels
};
template <>
struct Converted<Output::kev> {
  float4 low, high;
  std::int32_t masked;
  std::uint32_t saturated;
};

__device__ __forceinline__ float adu_minus_pedestal_times_factor(float adu, float pedestal, float factor) {
  return __fmul_rn(__fsub_rn(adu, pedestal), factor);
}

/// Returns a mask of the place's pixels inside an image of `pixels` pixels.
__device__ __forceinline__ std::uint32_t real_of(Place place, std::uint32_t pixels) {
  const auto run = [&](std::uint32_t first) { return first >= pixels ? 0U : min(pixels - first, 4U); };
  return ((1U << run(place.first)) - 1) | ((1U << run(place.second)) - 1) << 4U;
}

/// Loads the table entries of a place from device memory. Pixels behind the image's end are not read.
template <Output kOutput>
__device__ __forceinline__ Entries load_entries(const Tables& tables, Place place) {
  Entries entries{};
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint32_t at = half == 0 ? place.first : place.second;
    if (at >= tables.pixels) continue;
    const float4 pedestal = __ldg(reinterpret_cast<const float4*>(tables.pedestal + at));
    const float4 factor = __ldg(reinterpret_cast<const float4*>(tables.factor + at));
    const float p[4] = {pedestal.x, pedestal.y, pedestal.z, pedestal.w};
    const float f[4] = {factor.x, factor.y, factor.z, factor.w};
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      entries.pedestal[4 * half + k] = p[k];
      entries.factor[4 * half + k] = f[k];
    }
  }
  entries.real = real_of(place, tables.pixels);
#pragma unroll
  for (unsigned k = 0; k < kThreadPixels; ++k) {
    if ((entries.real >> k & 1U) == 0) continue;
    const float p = entries.pedestal[k];
    if constexpr (kOutput == Output::kev) {
      if (isnan(p)) entries.masked |= 1U << k;
    } else {
      const float at_0 = adu_minus_pedestal_times_factor(0.0F, p, entries.factor[k]);
      const float at_largest = adu_minus_pedestal_times_factor(kLargestAdu, p, entries.factor[k]);
      const bool inside = fminf(at_0, at_largest) >= kSmallestPhotons && fmaxf(at_0, at_largest) <= kLargestPhotons;
      const bool masked = p > kMaskedAbove;
      if (masked) entries.masked |= 1U << k;
      if (!masked && !inside) entries.wild |= 1U << k;
    }
  }
  entries.invalid = __popc(entries.masked);
  return entries;
}

/// Loads the eight raw words of a place; words behind the image's end are 0 and not read.
template <Output kOutput>
__device__ __forceinline__ uint4 load_words(const std::uint16_t* raw, Place place, std::uint32_t real) {
  if (real == 0xFF) {
    if constexpr (kOutput == Output::photons) return __ldcs(reinterpret_cast<const uint4*>(raw + place.first));
    const uint2 low = __ldcs(reinterpret_cast<const uint2*>(raw + place.first));
    const uint2 high = __ldcs(reinterpret_cast<const uint2*>(raw + place.second));
    return {low.x, low.y, high.x, high.y};
  }
  const auto pair = [&](unsigned k) {
    const std::uint32_t low = (real >> k & 1U) != 0 ? raw[pixel_of(place, k)] : 0;
    const std::uint32_t high = (real >> (k + 1) & 1U) != 0 ? raw[pixel_of(place, k + 1)] : 0;
    return low | high << 16U;
  };
  return {pair(0), pair(2), pair(4), pair(6)};
}

__device__ __forceinline__ std::uint32_t word_of(uint4 words, unsigned k) {
  const std::uint32_t low = (k & 2U) != 0 ? words.y : words.x;
  const std::uint32_t high = (k & 2U) != 0 ? words.w : words.z;
  return ((k & 4U) != 0 ? high : low) >> (k % 2 * 16) & 0xFFFFU;
}

/// Returns the exact ADU of a word as if it were in G0, by placing the word's bytes below the exponent of 2^23.
__device__ __forceinline__ float adu_of_pair(std::uint32_t pair, unsigned odd) {
  return __uint_as_float(__byte_perm(pair, 0x4B000000U, odd != 0 ? 0x7632U : 0x7610U)) - 8388608.0F;
}

/// The result of one word by the whole decode table, with calibration from device memory.
template <Output kOutput>
struct Corrected;
template <>
struct Corrected<Output::photons> {
  std::int16_t value;
  bool masked;
  bool saturated;
};
template <>
struct Corrected<Output::kev> {
  float value;
  bool masked;
  bool saturated;
};
/// Returns the calibration of a pixel in G1 or G2.
__device__ __forceinline__ float2 other_entry(const Tables& tables, std::uint32_t code, std::uint32_t pixel) {
  const std::uint32_t padded = (tables.pixels + kGroup - 1) / kGroup * kGroup;
  return __ldg(tables.other + (code == 3 ? padded : 0U) + pixel);
}
/// Converts a pixel with the pedestal and the factor of its gain.
template <Output kOutput>
__device__ __forceinline__ Corrected<kOutput> correct(std::uint32_t word, float2 entry) {
  const std::uint32_t code = word >> 14U;
  const bool unreadable = code == 2 || word == kReadoutErrorOnes || word == kReadoutErrorG1;
  const bool invalid = kOutput == Output::kev ? isnan(entry.x) : entry.x > kMaskedAbove;
  const bool masked = unreadable || invalid;
  const bool saturated = !masked && word == kOverflow;
  const float value = adu_minus_pedestal_times_factor(static_cast<float>(word & kAduMask), entry.x, entry.y);
  if constexpr (kOutput == Output::kev) {
    const float special = __uint_as_float(masked ? kNotANumber : kInfinity);
    return {masked || saturated ? special : value, masked, saturated};
  } else {
    const int rounded = __float2int_rn(fminf(fmaxf(value, kSmallestPhotons), kLargestPhotons));
    const int photons = masked ? kMaskedPhotons : (saturated ? kSaturatedPhotons : rounded);
    return {static_cast<std::int16_t>(photons), masked, saturated};
  }
}
template <Output kOutput>
__device__ __forceinline__ Corrected<kOutput> convert_word(std::uint32_t word, const Tables& tables,
                                                           std::uint32_t pixel) {
  const std::uint32_t code = word >> 14U;
  const float2 entry = code == 0 ? float2{__ldg(tables.pedestal + pixel), __ldg(tables.factor + pixel)}
                                 : other_entry(tables, code, pixel);
  return correct<kOutput>(word, entry);
}

/// Returns a mask of the place's pixels that convert_g0() cannot convert, because their gain has switched or they
/// exceed int16. Mostly 0.
__device__ __forceinline__ std::uint32_t not_in_g0(uint4 words, const Entries& entries) {
  constexpr std::uint32_t kGains = kGainMask * 0x10001U;
  if (((words.x | words.y | words.z | words.w) & kGains) == 0) return entries.wild;
  const std::uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
  std::uint32_t mask = entries.wild;
#pragma unroll
  for (unsigned p = 0; p < 4; ++p) {
    if ((pairs[p] & kGainMask) != 0) mask |= 1U << (2 * p);
    if ((pairs[p] & kGains) > 0xFFFFU) mask |= 2U << (2 * p);
  }
  return mask;
}

/// Converts eight pixels as if all were in G0, without a branch.
template <Output kOutput, bool kCount, bool kMark>
__device__ __forceinline__ Converted<kOutput> convert_g0(uint4 words, const Entries& entries, Thresholds thresholds) {
  static_assert(kOutput == Output::photons || (!kCount && !kMark), "keV are not counted");
  Converted<kOutput> out{};
  const std::uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
  std::uint32_t result[4];
  float kev[kThreadPixels];
  std::uint32_t below_bright = 0;
  std::uint32_t below_mark = 0;
#pragma unroll
  for (int k = kThreadPixels - 2; k >= 0; k -= 2) {
    float value[2];
#pragma unroll
    for (unsigned odd = 0; odd < 2; ++odd) {
      value[odd] = adu_minus_pedestal_times_factor(adu_of_pair(pairs[k / 2], odd), entries.pedestal[k + odd],
                                                   entries.factor[k + odd]);
    }
    if constexpr (kOutput == Output::kev) {
      // A device makes another NaN than the reference.
      kev[k] = isnan(value[0]) ? __uint_as_float(kNotANumber) : value[0];
      kev[k + 1] = isnan(value[1]) ? __uint_as_float(kNotANumber) : value[1];
    } else {
      const int low = __float_as_int(__fadd_rn(value[0], kRoundingMagic));
      const int high = __float_as_int(__fadd_rn(value[1], kRoundingMagic));
      result[k / 2] = __byte_perm(static_cast<unsigned>(low), static_cast<unsigned>(high), 0x5410U);
      // The sign of the difference moves in from the right, pixel 7 first.
      if constexpr (kCount) {
        below_bright = __funnelshift_l(static_cast<unsigned>(high - thresholds.bright), below_bright, 1);
        below_bright = __funnelshift_l(static_cast<unsigned>(low - thresholds.bright), below_bright, 1);
      }
      if constexpr (kMark) {
        below_mark = __funnelshift_l(static_cast<unsigned>(high - thresholds.mark), below_mark, 1);
        below_mark = __funnelshift_l(static_cast<unsigned>(low - thresholds.mark), below_mark, 1);
      }
    }
  }
  if constexpr (kOutput == Output::photons) {
    out.photons = {result[0], result[1], result[2], result[3]};
    out.bright = ~below_bright & entries.real;
    out.marks = ~below_mark & entries.real;
  } else {
    out.low = {kev[0], kev[1], kev[2], kev[3]};
    out.high = {kev[4], kev[5], kev[6], kev[7]};
  }
  return out;
}

/// Stores one pixel's photons as the k-th of eight.
__device__ __forceinline__ void put(Converted<Output::photons>& converted, unsigned k, std::int16_t value) {
  const auto insert = [&](std::uint32_t& pair, unsigned at) {
    if (k / 2 == at) {
      pair = __byte_perm(pair, static_cast<std::uint16_t>(value), k % 2 == 0 ? 0x3254U : 0x5410U);
    }
  };
  insert(converted.photons.x, 0);
  insert(converted.photons.y, 1);
  insert(converted.photons.z, 2);
  insert(converted.photons.w, 3);
}
__device__ __forceinline__ void put(Converted<Output::kev>& converted, unsigned k, float value) {
  const auto insert = [&](float& slot, unsigned at) { slot = k == at ? value : slot; };
  insert(converted.low.x, 0);
  insert(converted.low.y, 1);
  insert(converted.low.z, 2);
  insert(converted.low.w, 3);
  insert(converted.high.x, 4);
  insert(converted.high.y, 5);
  insert(converted.high.z, 6);
  insert(converted.high.w, 7);
}

/// Stores the value as the k-th of eight if `yes`; k is a compile-time constant.
__device__ __forceinline__ void put_where(bool yes, Converted<Output::photons>& out, unsigned k, std::int16_t value) {
  std::uint32_t& pair = k < 4 ? (k < 2 ? out.photons.x : out.photons.y) : (k < 6 ? out.photons.z : out.photons.w);
  const std::uint32_t with = __byte_perm(pair, static_cast<std::uint16_t>(value), k % 2 == 0 ? 0x3254U : 0x5410U);
  pair = yes ? with : pair;
}
__device__ __forceinline__ void put_where(bool yes, Converted<Output::kev>& out, unsigned k, float value) {
  float4& four = k < 4 ? out.low : out.high;
  float& one = k % 4 < 2 ? (k % 2 == 0 ? four.x : four.y) : (k % 2 == 0 ? four.z : four.w);
  one = yes ? value : one;
}

/// Returns photons in the form of Thresholds.
__device__ __forceinline__ std::int32_t comparable(std::int16_t photons) { return kZeroPhotons + photons; }

/// Replaces the k-th of eight pixels that convert_g0() has converted.
template <Output kOutput, bool kCount, bool kMark>
__device__ __forceinline__ void replace(Converted<kOutput>& out, unsigned k, const Corrected<kOutput>& corrected,
                                        const Entries& entries, Thresholds thresholds) {
  put(out, k, corrected.value);
  out.masked += static_cast<int>(corrected.masked) - static_cast<int>(entries.masked >> k & 1U);
  out.saturated += corrected.saturated ? 1 : 0;
  if constexpr (kCount) {
    out.bright = (out.bright & ~(1U << k)) | (comparable(corrected.value) >= thresholds.bright ? 1U << k : 0U);
  }
  if constexpr (kMark) {
    out.marks = (out.marks & ~(1U << k)) | (comparable(corrected.value) >= thresholds.mark ? 1U << k : 0U);
  }
}

/// Converts eight pixels: those in G0 at once, the others one by one. The thread requests all their table entries
/// together and waits once. Kernels over a stack gather such pixels of many places instead (jungfrau.cu).
template <Output kOutput, bool kCount, bool kMark>
__device__ __forceinline__ Converted<kOutput> convert_words_at_once(uint4 words, const Entries& entries,
                                                                    const Tables& tables, Place place,
                                                                    Thresholds thresholds) {
  auto out = convert_g0<kOutput, kCount, kMark>(words, entries, thresholds);
  const std::uint32_t todo = not_in_g0(words, entries);
  if (todo == 0) return out;
  float2 entry[kThreadPixels];
#pragma unroll
  for (unsigned k = 0; k < kThreadPixels; ++k) {
    const std::uint32_t code = word_of(words, k) >> 14U;
    entry[k] = {entries.pedestal[k], entries.factor[k]};
    if (code != 0) entry[k] = other_entry(tables, code, pixel_of(place, k));
  }
#pragma unroll
  for (unsigned k = 0; k < kThreadPixels; ++k) {
    if ((todo >> k & 1U) == 0) continue;
    replace<kOutput, kCount, kMark>(out, k, correct<kOutput>(word_of(words, k), entry[k]), entries, thresholds);
  }
  return out;
}

/// Converts eight pixels with one branch for all of them, which is faster for a single image. `other(code, k)` returns
/// the calibration of pixel k in G1 or G2.
template <Output kOutput, bool kCount, bool kMark, class Other>
__device__ __forceinline__ Converted<kOutput> convert_words_together(uint4 words, const Entries& entries,
                                                                     Thresholds thresholds, const Other& other) {
  auto out = convert_g0<kOutput, kCount, kMark>(words, entries, thresholds);
  const std::uint32_t todo = not_in_g0(words, entries);
  if (todo == 0) return out;
  float2 entry[kThreadPixels];
#pragma unroll
  for (unsigned k = 0; k < kThreadPixels; ++k) {
    const std::uint32_t code = word_of(words, k) >> 14U;
    entry[k] = {entries.pedestal[k], entries.factor[k]};
    if (code != 0) entry[k] = other(code, k);
  }
  std::uint32_t masked = 0, saturated = 0, bright = 0, marks = 0;
#pragma unroll
  for (unsigned k = 0; k < kThreadPixels; ++k) {
    const Corrected<kOutput> one = correct<kOutput>(word_of(words, k), entry[k]);
    masked |= one.masked ? 1U << k : 0U;
    saturated |= one.saturated ? 1U << k : 0U;
    if constexpr (kCount) bright |= comparable(one.value) >= thresholds.bright ? 1U << k : 0U;
    if constexpr (kMark) marks |= comparable(one.value) >= thresholds.mark ? 1U << k : 0U;
    put_where((todo >> k & 1U) != 0, out, k, one.value);
  }
  out.masked += __popc(masked & todo) - __popc(entries.masked & todo);
  out.saturated += __popc(saturated & todo);
  if constexpr (kCount) out.bright = (out.bright & ~todo) | (bright & todo);
  if constexpr (kMark) out.marks = (out.marks & ~todo) | (marks & todo);
  return out;
}

/// Writes the place's pixels inside the image, past the caches.
__device__ __forceinline__ void store(const Converted<Output::photons>& converted, void* out, Place place,
                                      std::uint32_t real) {
  auto* photons = static_cast<std::int16_t*>(out);
  if (real == 0xFF) {
    __stcs(reinterpret_cast<uint4*>(photons + place.first), converted.photons);
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < kThreadPixels; ++k) {
    if ((real >> k & 1U) != 0) photons[pixel_of(place, k)] = static_cast<std::int16_t>(word_of(converted.photons, k));
  }
}
__device__ __forceinline__ void store(const Converted<Output::kev>& converted, void* out, Place place,
                                      std::uint32_t real) {
  auto* kev = static_cast<float*>(out);
  if (real == 0xFF) {
    __stcs(reinterpret_cast<float4*>(kev + place.first), converted.low);
    __stcs(reinterpret_cast<float4*>(kev + place.second), converted.high);
    return;
  }
  const float values[kThreadPixels] = {converted.low.x,  converted.low.y,  converted.low.z,  converted.low.w,
                                       converted.high.x, converted.high.y, converted.high.z, converted.high.w};
#pragma unroll
  for (unsigned k = 0; k < kThreadPixels; ++k) {
    if ((real >> k & 1U) != 0) kev[pixel_of(place, k)] = values[k];
  }
}

}  // namespace rashpa::kernel::jungfrau::cuda
