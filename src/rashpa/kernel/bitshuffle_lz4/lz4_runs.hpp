// SPDX-License-Identifier: Apache-2.0
#pragma once
/// LZ4 blocks that contain only literals and runs of one byte, which a GPU finds without a table of positions. This is
/// the plain version.
#include <cstddef>

namespace rashpa::kernel::bitshuffle_lz4 {

/// The fewest literals at the end of an LZ4 block. No match begins in its last kLastMatch bytes.
inline constexpr std::size_t kLastLiterals = 5;
inline constexpr std::size_t kLastMatch = 12;
inline constexpr std::size_t kLeastMatch = 4;
/// The value of a token's half by which more bytes of the length follow.
inline constexpr std::size_t kLong = 15;

/// Makes an LZ4 block in which each match repeats the byte before it, and returns its bytes. `out` has room for
/// LZ4_compressBound(bytes). The reference for the CUDA kernel, which makes the same bytes.
std::size_t pack_runs(const std::byte* in, std::size_t bytes, std::byte* out) noexcept;

}  // namespace rashpa::kernel::bitshuffle_lz4
