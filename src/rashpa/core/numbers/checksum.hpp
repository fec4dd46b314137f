// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace rashpa {

/// Returns the CRC32C (Castagnoli, iSCSI; RFC 3720) of `bytes`. `crc` is the CRC32C of the preceding bytes, 0 at the
/// start: crc32c(b, crc32c(a)) is the value of a followed by b. crc32c("123456789") = 0xE3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;

/// Returns the CRC32C of `a` followed by `b` from their CRC32Cs and the length of `b`. Takes about a microsecond.
std::uint32_t crc32c_combined(std::uint32_t a, std::uint32_t b, std::uint64_t bytes_of_b) noexcept;

/// The effect of `bytes` appended zeros on a CRC32C, for one fixed number of bytes. It leaves out the inversions at the
/// beginning and the end of a CRC32C, and so is linear.
class Crc32cShift {
 public:
  explicit Crc32cShift(std::uint64_t bytes) noexcept;
  [[nodiscard]] std::uint32_t operator()(std::uint32_t crc) const noexcept;
  /// Returns the factor modulo the polynomial; bit 31 is the coefficient of x^0.
  [[nodiscard]] std::uint32_t factor() const noexcept { return factor_; }

 private:
  std::uint32_t factor_;
};

/// Returns the CRC-32 of zlib and Ethernet, chained as crc32c(). crc32("123456789") = 0xCBF43926.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;

}  // namespace rashpa
