// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: any bytes are no chunk of LZ4 blocks, or one that fills exactly the room that its header asks for.
#include <cstring>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/bitshuffle_lz4/lz4_chunk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace bslz4 = rashpa::kernel::bitshuffle_lz4;
  std::vector<std::byte> chunk(size);  // an allocation of its own, for asan
  if (size > 0) std::memcpy(chunk.data(), data, size);
  const auto stated = bslz4::uncompressed_bytes(chunk);
  if (!stated || *stated > (1U << 20U)) return 0;
  std::vector<std::byte> out(*stated);
  static_cast<void>(bslz4::decompress_lz4_chunk(chunk, out));
  return 0;
}
