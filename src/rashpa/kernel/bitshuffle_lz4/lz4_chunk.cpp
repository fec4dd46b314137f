// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bitshuffle_lz4/lz4_chunk.hpp"

#include <lz4.h>

#include <algorithm>
#include <cstring>

#include "rashpa/kernel/bitshuffle_lz4/big_endian.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {
namespace {

constexpr std::size_t kLengthBytes = 4;

/// Returns true when the `packed` bytes make exactly `out`. Neither is longer than LZ4_MAX_INPUT_SIZE.
bool decode_block(std::span<const std::byte> packed, std::span<std::byte> out) noexcept {
  if (packed.size() == out.size()) {
    std::memcpy(out.data(), packed.data(), out.size());
    return true;
  }
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(out.data()),
                          static_cast<int>(packed.size()), static_cast<int>(out.size()));
  return made >= 0 && static_cast<std::size_t>(made) == out.size();
}

}  // namespace

bool decompress_lz4_chunk(std::span<const std::byte> chunk, std::span<std::byte> out) noexcept {
  const auto stated = uncompressed_bytes(chunk);
  if (!stated || *stated != out.size()) return false;
  const std::size_t block_bytes = get_big_endian(chunk.data() + 8, 4);
  if ((block_bytes == 0 && !out.empty()) || block_bytes > LZ4_MAX_INPUT_SIZE) return false;
  std::span<const std::byte> rest = chunk.subspan(kHeaderBytes);
  while (!out.empty()) {
    const std::size_t n = std::min(block_bytes, out.size());
    if (rest.size() < kLengthBytes) return false;
    const std::size_t packed = get_big_endian(rest.data(), kLengthBytes);
    rest = rest.subspan(kLengthBytes);
    if (packed > n || packed > rest.size() || !decode_block(rest.first(packed), out.first(n))) return false;
    rest = rest.subspan(packed);
    out = out.subspan(n);
  }
  return rest.empty();
}

}  // namespace rashpa::kernel::bitshuffle_lz4
