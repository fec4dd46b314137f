// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: any bytes are no chunk, or one whose image is compressed and read again as it was. The first byte says
/// the size of elements, and whether the header is made to state a size that the memory has.
#include <cstdlib>
#include <cstring>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace bslz4 = rashpa::kernel::bitshuffle_lz4;
  if (size < 1) return 0;
  const std::size_t element_bytes = std::size_t{1} << (data[0] & 3U);
  std::vector<std::byte> chunk(size - 1);  // an allocation of its own, for asan
  if (size > 1) std::memcpy(chunk.data(), data + 1, size - 1);
  if ((data[0] & 4U) != 0 && chunk.size() >= bslz4::kHeaderBytes) {
    std::memset(chunk.data(), 0, 6);      // at most 64 KiB
    std::memset(chunk.data() + 8, 0, 2);  // blocks, too
  }
  const auto stated = bslz4::uncompressed_bytes(chunk);
  if (!stated || *stated > (1U << 20U)) return 0;
  std::vector<std::byte> out(*stated), again(*stated), threaded(*stated);
  const bool good = bslz4::decompress(chunk, element_bytes, out);
  static bslz4::ThreadedCodec codecs[]{{1, 2}, {2, 2}, {4, 2}, {8, 2}};
  bslz4::ThreadedCodec& codec = codecs[data[0] & 3U];
  if (codec.decompress(chunk, threaded) != good) std::abort();
  if (!good) return 0;
  if (threaded != out) std::abort();
  std::vector<std::byte> packed(bslz4::compressed_bound(out.size(), element_bytes));
  packed.resize(codec.compress(out, packed));
  if (!bslz4::decompress(packed, element_bytes, again) || again != out) std::abort();
  return 0;
}
