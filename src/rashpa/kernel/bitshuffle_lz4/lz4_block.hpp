// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <lz4.h>

#include <array>
#include <cstddef>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {

/// Returns the pointer as lz4 expects it.
inline char* chars(std::byte* p) noexcept { return reinterpret_cast<char*>(p); }
inline const char* chars(const std::byte* p) noexcept { return reinterpret_cast<const char*>(p); }

/// Makes LZ4 blocks of bit planes. It stores the leading planes of noise as literals, since LZ4 would find no match
/// there; lz4 compresses the rest. One per thread; does not allocate. The bytes of a block depend on that block alone.
class BlockCompressor {
 public:
  BlockCompressor() noexcept;

  /// Compresses `bytes` ≤ kTargetBlockBytes of planes of `plane_bytes` each to `out`, which has room for
  /// LZ4_compressBound(bytes). Returns the bytes written.
  std::size_t compress(const std::byte* planes, std::size_t bytes, std::size_t plane_bytes, std::byte* out) noexcept;

 private:
  std::size_t search(const std::byte* in, std::size_t bytes, std::byte* out, int acceleration) noexcept;

  LZ4_stream_t stream_{};
  std::array<std::byte, LZ4_COMPRESSBOUND(kTargetBlockBytes)> scratch_{};
};

}  // namespace rashpa::kernel::bitshuffle_lz4
