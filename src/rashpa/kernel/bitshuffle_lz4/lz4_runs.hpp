// SPDX-License-Identifier: Apache-2.0
#pragma once
/// LZ4 blocks of literals and runs of one byte, and nothing else: a GPU finds these without a table of places. This is
/// the plain version.
#include <cstddef>

namespace rashpa::kernel::bitshuffle_lz4 {

/// An LZ4 block ends with kLastLiterals literals or more, and no match begins in its last kLastMatch bytes.
inline constexpr std::size_t kLastLiterals = 5;
inline constexpr std::size_t kLastMatch = 12;
inline constexpr std::size_t kLeastMatch = 4;
/// The value of a half of a token that means that more bytes of the length follow.
inline constexpr std::size_t kLong = 15;

/// One LZ4 block, in which each match repeats the byte before it. `out` has room for LZ4_compressBound(bytes). Returns
/// its bytes. The reference of the kernel on CUDA, which makes the same bytes.
std::size_t pack_runs(const std::byte* in, std::size_t bytes, std::byte* out) noexcept;

}  // namespace rashpa::kernel::bitshuffle_lz4
