// SPDX-License-Identifier: Apache-2.0
/// Transposes 512 elements at once on processors with GFNI and VBMI, where one instruction turns 8 × 8 bits and one the
/// bytes of a vector. bitshuffle_simd.cpp includes it for each instruction set; it has code for one of them.
#if defined(RASHPA_BITSHUFFLE_GFNI_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef RASHPA_BITSHUFFLE_GFNI_INL_
#undef RASHPA_BITSHUFFLE_GFNI_INL_
#else
#define RASHPA_BITSHUFFLE_GFNI_INL_
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

#undef RASHPA_BITSHUFFLE_GFNI
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
#define RASHPA_BITSHUFFLE_GFNI 1

// Highway's own set for these processors does not name GFNI.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vbmi,gfni")
namespace rashpa::kernel::bitshuffle_lz4 {
namespace HWY_NAMESPACE {

inline bool has_gfni() { return __builtin_cpu_supports("gfni") != 0 && __builtin_cpu_supports("avx512vbmi") != 0; }

// Elements that are transposed at once: of each plane a vector.
constexpr std::size_t kTransposed = 512;
using Eight = __m512i[8];

/// Makes the 64 byte numbers of a permutation.
template <typename Number>
constexpr std::array<std::uint8_t, 64> bytes_by(Number number) {
  std::array<std::uint8_t, 64> bytes{};
  for (std::size_t i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(number(i));
  return bytes;
}
HWY_INLINE __m512i loaded(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
HWY_INLINE void stored(__m512i x, std::uint8_t* to) { _mm512_storeu_si512(to, x); }

/// Transposes 8 × 8 words of 8 bytes.
HWY_INLINE void transpose_words(Eight& x) {
  Eight pairs;  // even words of two rows, odd words of two rows, and so on
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm512_unpacklo_epi64(x[i], x[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi64(x[i], x[i + 1]);
  }
  for (int odd = 0; odd < 2; ++odd) {
    const __m512i low_0123 = _mm512_shuffle_i64x2(pairs[odd], pairs[2 + odd], 0x44);
    const __m512i low_4567 = _mm512_shuffle_i64x2(pairs[4 + odd], pairs[6 + odd], 0x44);
    const __m512i high_0123 = _mm512_shuffle_i64x2(pairs[odd], pairs[2 + odd], 0xEE);
    const __m512i high_4567 = _mm512_shuffle_i64x2(pairs[4 + odd], pairs[6 + odd], 0xEE);
    x[odd] = _mm512_shuffle_i64x2(low_0123, low_4567, 0x88);
    x[2 + odd] = _mm512_shuffle_i64x2(low_0123, low_4567, 0xDD);
    x[4 + odd] = _mm512_shuffle_i64x2(high_0123, high_4567, 0x88);
    x[6 + odd] = _mm512_shuffle_i64x2(high_0123, high_4567, 0xDD);
  }
}

/// Transposes 8 × 8 bits. GFNI multiplies by a matrix of 8 × 8 bits whose rows it takes from the last byte on; a
/// multiplication by one bit per byte transposes it. So the bytes of each group of eight come in reverse order.
HWY_INLINE __m512i transpose_bits(__m512i reversed) {
  return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(static_cast<long long>(0x8040201008040201ULL)), reversed, 0);
}

/// Stores one byte position of 512 elements, each group of eight in reverse order, into its eight planes.
HWY_INLINE void store_512(Eight& x, std::uint8_t* out, std::size_t plane) {
  alignas(64) static constexpr auto kTurned = bytes_by([](std::size_t i) { return i % 8 * 8 + i / 8; });
  const __m512i turned = loaded(kTurned.data());
  for (auto& one : x) one = _mm512_permutexvar_epi8(turned, transpose_bits(one));
  transpose_words(x);
  for (std::size_t b = 0; b < 8; ++b) stored(x[b], out + b * plane);
}

/// Splits 512 elements of 1, 2 or 4 bytes into their planes.
inline void split_planes(const std::uint8_t* in, std::size_t element_bytes, std::uint8_t* out, std::size_t plane) {
  const auto reverse = [](std::size_t i) { return i / 8 * 8 + 7 - i % 8; };
  if (element_bytes == 2) {
    alignas(64) static constexpr auto kLow = bytes_by([reverse](std::size_t i) { return 2 * reverse(i); });
    alignas(64) static constexpr auto kHigh = bytes_by([reverse](std::size_t i) { return 2 * reverse(i) + 1; });
    Eight low, high;
    for (std::size_t i = 0; i < 8; ++i) {
      const __m512i first = loaded(in + 128 * i), second = loaded(in + 128 * i + 64);
      low[i] = _mm512_permutex2var_epi8(first, loaded(kLow.data()), second);
      high[i] = _mm512_permutex2var_epi8(first, loaded(kHigh.data()), second);
    }
    store_512(low, out, plane);
    store_512(high, out + 8 * plane, plane);
  } else if (element_bytes == 4) {
    // Each vector's 16 elements apart to 16 bytes of each position, then 4 × 4 of these.
    alignas(64) static constexpr auto kApart =
        bytes_by([reverse](std::size_t i) { return 4 * reverse(i % 16) + i / 16; });
    Eight by_position[4];
    for (std::size_t i = 0; i < 8; ++i) {
      __m512i x[4];
      for (std::size_t j = 0; j < 4; ++j) {
        x[j] = _mm512_permutexvar_epi8(loaded(kApart.data()), loaded(in + 256 * i + 64 * j));
      }
      const __m512i low_01 = _mm512_shuffle_i64x2(x[0], x[1], 0x44), low_23 = _mm512_shuffle_i64x2(x[2], x[3], 0x44);
      const __m512i high_01 = _mm512_shuffle_i64x2(x[0], x[1], 0xEE), high_23 = _mm512_shuffle_i64x2(x[2], x[3], 0xEE);
      by_position[0][i] = _mm512_shuffle_i64x2(low_01, low_23, 0x88);
      by_position[1][i] = _mm512_shuffle_i64x2(low_01, low_23, 0xDD);
      by_position[2][i] = _mm512_shuffle_i64x2(high_01, high_23, 0x88);
      by_position[3][i] = _mm512_shuffle_i64x2(high_01, high_23, 0xDD);
    }
    for (std::size_t byte = 0; byte < 4; ++byte) store_512(by_position[byte], out + 8 * byte * plane, plane);
  } else {
    alignas(64) static constexpr auto kReversed = bytes_by(reverse);
    Eight x;
    for (std::size_t i = 0; i < 8; ++i) x[i] = _mm512_permutexvar_epi8(loaded(kReversed.data()), loaded(in + 64 * i));
    store_512(x, out, plane);
  }
}

/// Joins the eight bit planes of 512 bytes, 64 bytes of each plane.
inline void join_512(const std::uint8_t* in, std::size_t plane, std::uint8_t* HWY_RESTRICT to) {
  alignas(64) static constexpr auto kTurned = bytes_by([](std::size_t i) { return (7 - i % 8) * 8 + i / 8; });
  Eight x;
  for (std::size_t b = 0; b < 8; ++b) x[b] = loaded(in + b * plane);
  transpose_words(x);
  for (std::size_t i = 0; i < 8; ++i) {
    stored(transpose_bits(_mm512_permutexvar_epi8(loaded(kTurned.data()), x[i])), to + 64 * i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::bitshuffle_lz4
HWY_POP_ATTRIBUTES

#else
#define RASHPA_BITSHUFFLE_GFNI 0
#endif
#endif  // RASHPA_BITSHUFFLE_GFNI_INL_
