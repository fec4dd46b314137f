#pragma once
/// The conversion as one thread does it: eight pixels of one image, from registers to registers. For every kernel that
/// converts, whether it runs over a stack (jungfrau.cu) or stays resident. Results as the reference, bit for bit: each
/// operation rounds by itself (__fsub_rn and __fmul_rn are never contracted).
#include <cuda_runtime.h>

#include <cstdint>

#include "rashpa/core/fill.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"

namespace rashpa::kernel::jungfrau::cuda {

inline constexpr std::uint32_t kThreadPixels = 8;
inline constexpr std::uint32_t kWarpPixels = 32 * kThreadPixels;

/// Where the eight pixels of a thread are: two runs of four. Photons: one behind the other, so that raw words and
/// photons move as 16 bytes. keV: 128 pixels apart, so that the 16 bytes of four values lie beside those of the next
/// thread.
struct Place {
  std::uint32_t first;
  std::uint32_t second;
};

/// The place of thread `thread`, counted over the whole image.
template <Output kOutput>
__device__ __forceinline__ Place place_of(std::uint32_t thread) {
  if constexpr (kOutput == Output::photons) return {thread * kThreadPixels, thread * kThreadPixels + 4};
  const std::uint32_t first = thread / 32 * kWarpPixels + thread % 32 * 4;
  return {first, first + kWarpPixels / 2};
}

__device__ __forceinline__ std::uint32_t pixel_of(Place place, unsigned k) {
  return k < 4 ? place.first + k : place.second + k - 4;
}

/// What a thread keeps over a stack. Bit k of a mask stands for pixel_of(place, k).
struct Entries {
  float pedestal[kThreadPixels];
  float factor[kThreadPixels];
  std::uint32_t real;     ///< pixels inside the image
  std::uint32_t wild;     ///< pixels whose G0 words can leave int16
  std::uint32_t masked;   ///< real pixels without valid calibration in G0
  std::uint32_t invalid;  ///< how many those are
};

/// Thresholds as the rounded sum holds them: comparing its bits compares photons.
struct Thresholds {
  std::int32_t bright;
  std::int32_t mark;
};

__host__ __device__ inline Thresholds thresholds_of(const Taps& taps) {
  // 0x4B400000 is kRoundingMagic; every photon is one unit in the last place. Masked pixels stay below every threshold.
  constexpr std::int32_t kZero = 0x4B400000;
  const auto bits = [](std::int16_t threshold) {
    return kZero + (threshold > kMaskedPhotons ? threshold : kMaskedPhotons + 1);
  };
  return {bits(taps.bright_threshold), bits(taps.mark_threshold)};
}

/// One image's eight pixels, ready to be stored, and what was found on the way.
template <Output kOutput>
struct Converted;
template <>
struct Converted<Output::photons> {
  uint4 photons;            ///< eight int16
  std::uint32_t bright;     ///< mask; with kCount
  std::uint32_t marks;      ///< mask; with kMark
  std::int32_t masked;      ///< masked pixels beyond Entries::invalid
  std::uint32_t saturated;  ///< how many
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

/// The tables of a place, from device memory. A place may lie behind the image's end, then nothing is read.
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
#pragma unroll
  for (unsigned k = 0; k < kThreadPixels; ++k) {
    if (pixel_of(place, k) >= tables.pixels) continue;
    entries.real |= 1U << k;
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

/// The eight raw words of a place; words behind the image's end are 0 and not read.
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

/// Exactly the ADU of the word, as if it were in G0: the word's bytes below the exponent of 2^23.
__device__ __forceinline__ float adu_of_pair(std::uint32_t pair, unsigned odd) {
  return __uint_as_float(__byte_perm(pair, 0x4B000000U, odd != 0 ? 0x7632U : 0x7610U)) - 8388608.0F;
}

/// One word by every row of the decode table, slowly.
struct Decoded {
  float value;
  bool masked;
  bool saturated;
};
template <Output kOutput>
__device__ __forceinline__ Decoded decode(std::uint32_t word, const Tables& tables, std::uint32_t pixel) {
  const std::uint32_t code = word >> 14U;
  const bool unreadable = code == 2 || word == kReadoutErrorOnes || word == kReadoutErrorG1;
  if (unreadable) return {0.0F, true, false};
  float2 entry;
  if (code == 0) {
    entry = {__ldg(tables.pedestal + pixel), __ldg(tables.factor + pixel)};
  } else {
    const std::uint32_t padded = (tables.pixels + kGroup - 1) / kGroup * kGroup;
    entry = __ldg(tables.other + (code == 3 ? padded : 0U) + pixel);
  }
  const bool invalid = kOutput == Output::kev ? isnan(entry.x) : entry.x > kMaskedAbove;
  const float adu = static_cast<float>(word & kAduMask);
  return {adu_minus_pedestal_times_factor(adu, entry.x, entry.y), invalid, !invalid && word == kOverflow};
}

/// Converts eight pixels in G0 without a branch; then, where one has switched its gain or can leave int16, corrects
/// these one by one with the other tables.
template <Output kOutput, bool kCount, bool kMark>
__device__ __forceinline__ Converted<kOutput> convert_words(uint4 words, const Entries& entries, const Tables& tables,
                                                            Place place, Thresholds thresholds) {
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
      // A device makes another NaN than the reference: 0x7FFFFFFF.
      kev[k] = isnan(value[0]) ? __uint_as_float(0x7FC00000U) : value[0];
      kev[k + 1] = isnan(value[1]) ? __uint_as_float(0x7FC00000U) : value[1];
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
  constexpr std::uint32_t kGains = kGainMask * 0x10001U;
  if (((words.x | words.y | words.z | words.w) & kGains) == 0 && entries.wild == 0) return out;

  std::uint32_t todo = entries.wild;
#pragma unroll
  for (unsigned k = 0; k < kThreadPixels; ++k) {
    const std::uint32_t gain_bits = (k % 2 == 0 ? kGainMask : static_cast<unsigned>(kGainMask) << 16U);
    if ((pairs[k / 2] & gain_bits) != 0) todo |= 1U << k;
  }
#pragma unroll 1
  for (; todo != 0; todo &= todo - 1) {
    const auto k = static_cast<unsigned>(__ffs(static_cast<int>(todo)) - 1);
    const std::uint32_t pixel = pixel_of(place, k);
    const Decoded decoded = decode<kOutput>(word_of(words, k), tables, pixel);
    out.masked += static_cast<int>(decoded.masked) - static_cast<int>(entries.masked >> k & 1U);
    out.saturated += decoded.saturated ? 1 : 0;
    if constexpr (kOutput == Output::photons) {
      const float clamped = fminf(fmaxf(decoded.value, kSmallestPhotons), kLargestPhotons);
      int photons = __float2int_rn(clamped);
      if (decoded.saturated) photons = kSaturatedPhotons;
      if (decoded.masked) photons = kMaskedPhotons;
      const std::uint32_t insert = k % 2 == 0 ? 0x3254U : 0x5410U;  // the photons over the low or the high half
      const auto put = [&](std::uint32_t& pair, unsigned at) {
        if (k / 2 == at) pair = __byte_perm(pair, static_cast<unsigned>(photons), insert);
      };
      put(out.photons.x, 0);
      put(out.photons.y, 1);
      put(out.photons.z, 2);
      put(out.photons.w, 3);
      const int bits = 0x4B400000 + photons;
      if constexpr (kCount) out.bright = (out.bright & ~(1U << k)) | (bits >= thresholds.bright ? 1U << k : 0U);
      if constexpr (kMark) out.marks = (out.marks & ~(1U << k)) | (bits >= thresholds.mark ? 1U << k : 0U);
    } else {
      const float value = decoded.masked      ? __uint_as_float(0x7FC00000U)
                          : decoded.saturated ? __uint_as_float(0x7F800000U)
                                              : decoded.value;
      const auto put = [&](float& slot, unsigned at) { slot = k == at ? value : slot; };
      put(out.low.x, 0);
      put(out.low.y, 1);
      put(out.low.z, 2);
      put(out.low.w, 3);
      put(out.high.x, 4);
      put(out.high.y, 5);
      put(out.high.z, 6);
      put(out.high.w, 7);
    }
  }
  return out;
}

/// Writes the real pixels of a place, past the caches.
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
