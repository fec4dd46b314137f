// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/numbers/checksum.hpp"

#include <isa-l/crc.h>

namespace rashpa {

namespace {
// ISA-L takes mutable pointers for some of its checksums, though it only reads.
unsigned char* bytes_of(std::span<const std::byte> bytes) noexcept {
  return const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));  // NOLINT
}

// Bytes behind a message multiply its polynomial by x^8 each. Coefficients are reflected: bit 31 is that of x^0.
constexpr std::uint32_t kPolynomial = 0x82F63B78, kOne = 1U << 31U, kByte = 1U << 23U;

constexpr std::uint32_t product(std::uint32_t left, std::uint32_t right) noexcept {
  std::uint32_t sum = 0;
  for (int bit = 31; bit >= 0; --bit) {
    sum ^= right & (0U - (left >> static_cast<unsigned>(bit) & 1U));
    right = right >> 1U ^ (kPolynomial & (0U - (right & 1U)));
  }
  return sum;
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

Crc32cShift::Crc32cShift(std::uint64_t bytes) noexcept : factor_(kOne) {
  for (std::uint32_t square = kByte; bytes != 0; bytes >>= 1U) {
    if ((bytes & 1U) != 0) factor_ = product(factor_, square);
    square = product(square, square);
  }
}

std::uint32_t Crc32cShift::operator()(std::uint32_t crc) const noexcept { return product(factor_, crc); }

std::uint32_t crc32c_combined(std::uint32_t a, std::uint32_t b, std::uint64_t bytes_of_b) noexcept {
  return Crc32cShift(bytes_of_b)(a) ^ b;
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc) noexcept {
  return crc32_gzip_refl(crc, bytes_of(bytes), bytes.size());
}

}  // namespace rashpa
