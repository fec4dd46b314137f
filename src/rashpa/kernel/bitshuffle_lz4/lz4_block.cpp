// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bitshuffle_lz4/lz4_block.hpp"

#include <lz4.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle.hpp"
#include "rashpa/kernel/bitshuffle_lz4/lz4_runs.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {
namespace {

// Fewer bytes of noise are searched faster than looked at twice.
constexpr std::size_t kLeastNoise = 1024;
// LZ4 ends with literals: the rest for it is longer than these.
constexpr std::size_t kLeastRest = 64;
// The proof that a plane is noise takes one step where the search itself takes kProof.
constexpr int kProof = 32;

/// Writes the literals `first` before all that the block `packed` stands for: its own first literals are added to
/// them. The matches of a block reach back, so none of them changes.
std::size_t put_before(const std::byte* first, std::size_t bytes, const std::byte* packed, std::size_t packed_bytes,
                       std::byte* out) noexcept {
  const std::byte* from = packed;
  const auto token = std::to_integer<unsigned>(*from++);
  std::size_t literals = token >> 4U;
  if (literals == kLong) {
    unsigned more = 255;
    while (more == 255) {
      more = std::to_integer<unsigned>(*from++);
      literals += more;
    }
  }
  std::byte* to = out;
  *to++ = static_cast<std::byte>(kLong << 4U | (token & 15U));
  std::size_t length = bytes + literals - kLong;
  for (; length >= 255; length -= 255) *to++ = std::byte{255};
  *to++ = static_cast<std::byte>(length);
  std::memcpy(to, first, bytes);
  to += bytes;
  const auto left = static_cast<std::size_t>(packed + packed_bytes - from);
  std::memcpy(to, from, left);
  return static_cast<std::size_t>(to - out) + left;
}

}  // namespace

BlockCompressor::BlockCompressor() noexcept {
  LZ4_initStream(&stream_, sizeof(stream_));
  // An empty table names position 0 for every hash, which a block at position 0 would take for matches: with one block
  // behind it, the first real one gives the bytes that it gives ever after.
  const std::array<std::byte, 64> nothing{};
  search(nothing.data(), nothing.size(), scratch_.data(), 1);
}

std::size_t BlockCompressor::search(const std::byte* in, std::size_t bytes, std::byte* out, int acceleration) noexcept {
  // A stream that is reset before each block gives independent blocks, like LZ4_compress_default, but without clearing
  // a hash table of 16 KiB for each 8 KiB: the reset moves the table's origin instead.
  LZ4_resetStream_fast(&stream_);
  const int written = LZ4_compress_fast_continue(&stream_, chars(in), chars(out), static_cast<int>(bytes),
                                                 LZ4_compressBound(static_cast<int>(bytes)), acceleration);
  return static_cast<std::size_t>(written);
}

std::size_t BlockCompressor::compress(const std::byte* planes, std::size_t bytes, std::size_t plane_bytes,
                                      std::byte* out) noexcept {
  const std::size_t noise = noise_planes(planes, plane_bytes, bytes / plane_bytes) * plane_bytes;
  // Planes that repeat at a distance or repeat one another look like noise; a coarse search finds them.
  const bool split =
      noise >= kLeastNoise && noise + kLeastRest <= bytes && search(planes, noise, scratch_.data(), kProof) >= noise;
  if (!split) return search(planes, bytes, out, 1);
  const std::size_t packed = search(planes + noise, bytes - noise, scratch_.data(), 1);
  return put_before(planes, noise, scratch_.data(), packed, out);
}

}  // namespace rashpa::kernel::bitshuffle_lz4
