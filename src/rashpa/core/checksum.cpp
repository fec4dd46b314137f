// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/checksum.hpp"

#include <isa-l/crc.h>

namespace rashpa {

namespace {
// ISA-L takes mutable pointers for some of its checksums, though it only reads.
unsigned char* bytes_of(std::span<const std::byte> bytes) noexcept {
  return const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));  // NOLINT
}
}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) noexcept {
  std::uint32_t state = ~crc;
  constexpr std::size_t kLargest = std::size_t{1} << 30;  // ISA-L takes an int
  while (bytes.size() > kLargest) {
    state = crc32_iscsi(bytes_of(bytes), static_cast<int>(kLargest), state);
    bytes = bytes.subspan(kLargest);
  }
  return ~crc32_iscsi(bytes_of(bytes), static_cast<int>(bytes.size()), state);
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc) noexcept {
  return crc32_gzip_refl(crc, bytes_of(bytes), bytes.size());
}

}  // namespace rashpa
