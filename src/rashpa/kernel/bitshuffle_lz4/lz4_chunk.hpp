// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Chunks of HDF5 filter 32004, and of stream2's "lz4". They begin with the header of bitshuffle_lz4.hpp. Blocks of the
/// stated size follow, the last one shorter; four big-endian bytes before each block give its length in the chunk. A
/// block whose length equals its uncompressed size is not compressed.
#include <cstddef>
#include <span>

namespace rashpa::kernel::bitshuffle_lz4 {

/// Decompresses a chunk from an untrusted source. `out` must have exactly the bytes that the header states. Returns
/// false when the chunk is truncated, too long, inconsistent or has a bad LZ4 block; `out` is then undefined.
[[nodiscard]] bool decompress_lz4_chunk(std::span<const std::byte> chunk, std::span<std::byte> out) noexcept;

}  // namespace rashpa::kernel::bitshuffle_lz4
