// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace rashpa::kernel::bitshuffle_lz4 {

/// Transposes the bits of one block: bit b of element i goes to bit i mod 8 of byte b · elements/8 + i/8 of `out`. Bits
/// and bytes count from the least significant. `elements` is a multiple of 8, `element_bytes` is 1, 2, 4 or 8; `in` and
/// `out` do not overlap. The plain reference, one bit at a time.
void shuffle_reference(const std::byte* in, std::byte* out, std::size_t elements, std::size_t element_bytes) noexcept;
/// Inverts shuffle_reference(), likewise plain.
void unshuffle_reference(const std::byte* in, std::byte* out, std::size_t elements, std::size_t element_bytes) noexcept;

/// Gives the result of shuffle_reference() by vector compares and mask stores. Highway chooses the widest instructions
/// of this machine at the first call.
void shuffle(const std::byte* in, std::byte* out, std::size_t elements, std::size_t element_bytes) noexcept;
/// Gives the result of unshuffle_reference(). Mask registers become bytes where the machine has them; otherwise vectors
/// transpose 8 × 8 bits.
void unshuffle(const std::byte* in, std::byte* out, std::size_t elements, std::size_t element_bytes) noexcept;

/// Returns how many of `planes` planes, `plane_bytes` bytes each, are noise, counted from the first plane up to the
/// first one that is not. In a plane of noise, fewer than one in sixteen neighbouring bytes are equal. Returns 0 for
/// planes of fewer than 64 bytes.
std::size_t noise_planes(const std::byte* in, std::size_t plane_bytes, std::size_t planes) noexcept;

/// Transposes an 8 × 8 matrix of bits: bit c of byte r goes to bit r of byte c.
constexpr std::uint64_t transpose_8x8(std::uint64_t x) noexcept {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAULL;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCULL;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ULL;
  return x ^ t ^ (t << 28);
}

}  // namespace rashpa::kernel::bitshuffle_lz4
