// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/messages/unpack.hpp"

#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <limits>
#include <new>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/bitshuffle_lz4/lz4_chunk.hpp"

namespace rashpa::link::stream2 {

namespace {

namespace bslz4 = kernel::bitshuffle_lz4;

bool unpack_lz4_block(std::span<const std::byte> packed, std::span<std::byte> out) noexcept {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  if (packed.size() > kMost || out.size() > kMost) return false;
  const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(out.data()),
                                      static_cast<int>(packed.size()), static_cast<int>(out.size()));
  return got >= 0 && static_cast<std::size_t>(got) == out.size();
}

bool unpack_all(const Packed& packed, std::span<std::byte> out) {
  switch (packed.codec) {
    case Codec::bslz4:
      return bslz4::decompress(packed.bytes, packed.element, out);
    case Codec::lz4:
      return bslz4::decompress_lz4_chunk(packed.bytes, out);
    case Codec::lz4_block:
      return unpack_lz4_block(packed.bytes, out);
    case Codec::zstd: {
      const std::size_t got = ZSTD_decompress(out.data(), out.size(), packed.bytes.data(), packed.bytes.size());
      return ZSTD_isError(got) == 0 && got == out.size();
    }
    case Codec::none:
      break;
  }
  if (packed.bytes.size() != out.size()) return false;
  std::memcpy(out.data(), packed.bytes.data(), out.size());
  return true;
}

}  // namespace

bool unpack(const Packed& packed, const Placement& placement, std::byte* to, Scratch& scratch) noexcept {
  const std::uint64_t size = placement.payload_bytes();
  if (packed.size() != size) return false;
  try {
    if (placement.contiguous() && !packed.upside_down) return unpack_all(packed, {to, size});
    scratch.lines.resize(size);
    if (!unpack_all(packed, scratch.lines)) return false;
    for (std::uint64_t line = 0; line < placement.lines; ++line) {
      const std::uint64_t at = packed.upside_down ? placement.lines - 1 - line : line;
      std::memcpy(to + at * placement.pitch, scratch.lines.data() + line * placement.line_bytes, placement.line_bytes);
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace rashpa::link::stream2
