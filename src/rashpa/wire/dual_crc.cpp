// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/dual_crc.hpp"

#include <array>

#include "rashpa/core/numbers/checksum.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rashpa::wire {

namespace {

// Polynomials modulo CRC32C's, bit 31 is the coefficient of x^0, as in the checksum's register.
constexpr std::uint32_t times_crc32c(std::uint32_t a, std::uint32_t b) noexcept {
  constexpr std::uint32_t kReflected = 0x82F63B78;
  std::uint32_t sum = 0;
  for (int bit = 31; bit >= 0; --bit) {
    sum ^= b & (0U - (a >> bit & 1U));
    b = (b >> 1) ^ (kReflected & (0U - (b & 1U)));
  }
  return sum;
}

// x^(8·bytes): the factor of `bytes` bytes of zeros on the register.
constexpr std::uint32_t shift_of(std::size_t bytes) noexcept {
  std::uint32_t power = 0x80000000U >> 8;
  std::uint32_t value = 0x80000000U;
  for (; bytes != 0; bytes >>= 1) {
    if ((bytes & 1U) != 0) value = times_crc32c(value, power);
    power = times_crc32c(power, power);
  }
  return value;
}

CrcPair two_passes(std::span<const std::byte> bytes, CrcPair before) noexcept {
  return {crc32(bytes, before.crc32), crc32c(bytes, before.crc32c)};
}

#if defined(__x86_64__)

// Polynomials over GF(2): bit i is the coefficient of x^i.
constexpr std::uint64_t kCrc32 = 0x104C11DB7;
constexpr std::uint64_t kCrc32c = 0x11EDC6F41;

constexpr int degree(std::uint64_t a) noexcept {
  int bits = -1;
  for (; a != 0; a >>= 1) ++bits;
  return bits;
}

// The lower 64 coefficients of a·b.
constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  for (; b != 0; b >>= 1, a <<= 1) sum ^= (b & 1U) != 0 ? a : 0;
  return sum;
}

constexpr std::uint64_t divide(std::uint64_t& rest, std::uint64_t by) noexcept {
  std::uint64_t quotient = 0;
  for (int shift = degree(rest) - degree(by); shift >= 0; shift = degree(rest) - degree(by)) {
    quotient ^= std::uint64_t{1} << shift;
    rest ^= by << shift;
  }
  return quotient;
}

constexpr std::uint64_t remainder(std::uint64_t a, std::uint64_t by) noexcept {
  divide(a, by);
  return a;
}

// 1/a modulo p by Euclid's algorithm; both polynomials are coprime.
constexpr std::uint64_t inverse(std::uint64_t a, std::uint64_t p) noexcept {
  std::uint64_t r0 = p;
  std::uint64_t r1 = remainder(a, p);
  std::uint64_t t0 = 0;
  std::uint64_t t1 = 1;
  while (r1 != 0) {
    const std::uint64_t quotient = divide(r0, r1);
    const std::uint64_t rest = r0;
    r0 = r1;
    r1 = rest;
    const std::uint64_t t2 = t0 ^ product(quotient, t1);
    t0 = t1;
    t1 = t2;
  }
  return t0;
}

// x^64 + kBoth = kCrc32 · kCrc32c.
constexpr std::uint64_t kBoth = product(kCrc32, kCrc32c);

constexpr std::uint64_t power_mod_both(unsigned exponent) noexcept {
  std::uint64_t value = 1;
  for (unsigned i = 0; i < exponent; ++i) value = (value << 1) ^ (value >> 63 != 0 ? kBoth : 0);
  return value;
}

constexpr std::uint64_t reflect(std::uint64_t a) noexcept {
  std::uint64_t mirrored = 0;
  for (int i = 0; i < 64; ++i) mirrored |= (a >> i & 1U) << (63 - i);
  return mirrored;
}

// Polynomial that is x^63 modulo `p` and 0 modulo `other` (Chinese remainders).
constexpr std::uint64_t only_modulo(std::uint64_t p, std::uint64_t other) noexcept {
  const std::uint64_t x63 = remainder(std::uint64_t{1} << 63, p);
  return product(other, remainder(product(x63, inverse(other, p)), p));
}

// Blocks of 128 bits hold polynomials with the lowest bit first, as the bytes travel. The product of two reflected
// 64-bit halves, read as such a block, is one power of x too high: hence the −1 in the exponents.
struct Fold {
  std::uint64_t low;  // for the half that comes first
  std::uint64_t high;
};
constexpr Fold fold_by(unsigned bits) noexcept {
  return {reflect(power_mod_both(bits + 63)), reflect(power_mod_both(bits - 1))};
}
constexpr Fold kFold2048 = fold_by(2048);
constexpr Fold kFold1024 = fold_by(1024);
constexpr Fold kFold256 = fold_by(256);
constexpr Fold kFold128 = fold_by(128);
constexpr std::uint64_t kStart32 = reflect(only_modulo(kCrc32, kCrc32c));
constexpr std::uint64_t kStart32c = reflect(only_modulo(kCrc32c, kCrc32));

#define RASHPA_CLMUL __attribute__((target("avx,pclmul,sse4.2")))

RASHPA_CLMUL inline __m128i constants(const Fold& fold) noexcept {
  return _mm_set_epi64x(static_cast<long long>(fold.high), static_cast<long long>(fold.low));
}
RASHPA_CLMUL inline __m128i load(const std::byte* at) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
RASHPA_CLMUL inline __m128i folded(__m128i block, __m128i by) noexcept {
  return _mm_xor_si128(_mm_clmulepi64_si128(block, by, 0x00), _mm_clmulepi64_si128(block, by, 0x11));
}

// One polynomial to put on the first block that starts both checksums with their registers' values.
RASHPA_CLMUL inline __m128i start_block(CrcPair before) noexcept {
  const __m128i crc32 = _mm_cvtsi64_si128(static_cast<long long>(std::uint64_t{~before.crc32}));
  const __m128i crc32c = _mm_cvtsi64_si128(static_cast<long long>(std::uint64_t{~before.crc32c}));
  return _mm_xor_si128(_mm_clmulepi64_si128(crc32, _mm_cvtsi64_si128(static_cast<long long>(kStart32)), 0),
                       _mm_clmulepi64_si128(crc32c, _mm_cvtsi64_si128(static_cast<long long>(kStart32c)), 0));
}

// The bytes behind the last whole 128 or 256 bytes, and the way back from the polynomial to two registers.
RASHPA_CLMUL CrcPair finish(__m128i rest, const std::byte* at, std::size_t left) noexcept {
  const __m128i near = constants(kFold128);
  for (; left >= 16; at += 16, left -= 16) rest = _mm_xor_si128(folded(rest, near), load(at));
  // 16 bytes have the same remainders as all before them, from registers of 0.
  alignas(16) std::byte last[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(last), rest);
  const std::uint64_t half = _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(rest)));
  const std::uint64_t whole = _mm_crc32_u64(half, static_cast<std::uint64_t>(_mm_extract_epi64(rest, 1)));
  const CrcPair sum{crc32(last, 0xFFFFFFFF), ~static_cast<std::uint32_t>(whole)};
  return left == 0 ? sum : two_passes({at, left}, sum);
}

RASHPA_CLMUL CrcPair one_pass(std::span<const std::byte> bytes, CrcPair before) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  __m128i block[8];
  for (std::size_t i = 0; i < 8; ++i) block[i] = load(at + 16 * i);
  block[0] = _mm_xor_si128(block[0], start_block(before));
  at += 128;
  left -= 128;
  const __m128i far = constants(kFold1024);
  for (; left >= 128; at += 128, left -= 128) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) block[i] = _mm_xor_si128(folded(block[i], far), load(at + 16 * i));
  }
  const __m128i near = constants(kFold128);
  __m128i rest = block[0];
  for (std::size_t i = 1; i < 8; ++i) rest = _mm_xor_si128(folded(rest, near), block[i]);
  return finish(rest, at, left);
}

#define RASHPA_VCLMUL __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.2")))

RASHPA_VCLMUL inline __m256i load_wide(const std::byte* at) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
RASHPA_VCLMUL inline __m256i folded_wide(__m256i block, __m256i by) noexcept {
  return _mm256_xor_si256(_mm256_clmulepi64_epi128(block, by, 0x00), _mm256_clmulepi64_epi128(block, by, 0x11));
}

// The same with two blocks in each register.
RASHPA_VCLMUL CrcPair one_wide_pass(std::span<const std::byte> bytes, CrcPair before) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  __m256i block[8];
  for (std::size_t i = 0; i < 8; ++i) block[i] = load_wide(at + 32 * i);
  block[0] = _mm256_xor_si256(block[0], _mm256_zextsi128_si256(start_block(before)));
  at += 256;
  left -= 256;
  const __m256i far = _mm256_broadcastsi128_si256(constants(kFold2048));
  for (; left >= 256; at += 256, left -= 256) {
    // The next line's bytes: the processor does not look ahead across pages. Behind the end it does no harm.
    for (std::size_t i = 0; i < 256; i += 64) _mm_prefetch(reinterpret_cast<const char*>(at + 4096 + i), _MM_HINT_T0);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
      block[i] = _mm256_xor_si256(folded_wide(block[i], far), load_wide(at + 32 * i));
    }
  }
  const __m256i near = _mm256_broadcastsi128_si256(constants(kFold256));
  __m256i rest = block[0];
  for (std::size_t i = 1; i < 8; ++i) rest = _mm256_xor_si256(folded_wide(rest, near), block[i]);
  const __m128i low = _mm256_castsi256_si128(rest);
  const __m128i joined = _mm_xor_si128(folded(low, constants(kFold128)), _mm256_extracti128_si256(rest, 1));
  return finish(joined, at, left);
}

#endif

}  // namespace

std::span<const DualCrcWay> dual_crc_ways() noexcept {
  static const std::array<DualCrcWay, 3> ways{{
      {"two passes", two_passes},
#if defined(__x86_64__)
      {"pclmul", one_pass},
      {"vpclmul", one_wide_pass},
#endif
  }};
#if defined(__x86_64__)
  static const bool narrow = __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("avx") != 0;
  static const bool wide = narrow && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0;
  return std::span(ways).first(wide ? 3 : narrow ? 2 : 1);
#else
  return std::span(ways).first(1);
#endif
}

CrcPair dual_crc(std::span<const std::byte> bytes, CrcPair before) noexcept {
  static const auto best = dual_crc_ways().back().run;
  return bytes.size() < kDualCrcShortest ? two_passes(bytes, before) : best(bytes, before);
}

std::uint32_t Crc32cJoin::operator()(std::uint32_t first, std::uint32_t second, std::size_t bytes) noexcept {
  Known& known = known_[(bytes ^ bytes >> 4 ^ bytes >> 8) % known_.size()];
  if (known.bytes != bytes) known = {bytes, shift_of(bytes)};
  return times_crc32c(first, known.shift) ^ second;
}

}  // namespace rashpa::wire
