// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Chunks of HDF5 filter 32004, and of stream2's "lz4". The header is that of bitshuffle_lz4.hpp; then come blocks of
/// the stated size, the last one shorter, each behind four bytes, big-endian, that hold its length in the chunk. A
/// block that has its whole length is not compressed.
#include <cstddef>
#include <span>

namespace rashpa::kernel::bitshuffle_lz4 {

/// Decompresses a chunk from an untrusted source. `out` must have exactly the bytes that the header states. False when
/// the chunk is truncated, too long, inconsistent or holds a bad LZ4 block; `out` is then undefined.
[[nodiscard]] bool decompress_lz4_chunk(std::span<const std::byte> chunk, std::span<std::byte> out) noexcept;

}  // namespace rashpa::kernel::bitshuffle_lz4
