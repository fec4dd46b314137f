// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace rashpa {

/// CRC32C (Castagnoli, iSCSI; RFC 3720) of `bytes`. `crc` is the value of the bytes before, 0 at the start, so that
/// crc32c(b, crc32c(a)) equals the value of a followed by b. crc32c("123456789") = 0xE3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;

/// CRC32C of `a` followed by `b`, of which only the CRC32Cs are known, and how many bytes `b` has. About a microsecond.
std::uint32_t crc32c_combined(std::uint32_t a, std::uint32_t b, std::uint64_t bytes_of_b) noexcept;

/// The change of a CRC32C by `bytes` zeros behind its data, without the inversions at the beginning and
/// the end of a CRC32C, and so linear. Made once for a number of bytes.
class Crc32cShift {
 public:
  explicit Crc32cShift(std::uint64_t bytes) noexcept;
  [[nodiscard]] std::uint32_t operator()(std::uint32_t crc) const noexcept;
  /// The factor, modulo the polynomial; bit 31 is the coefficient of x^0.
  [[nodiscard]] std::uint32_t factor() const noexcept { return factor_; }

 private:
  std::uint32_t factor_;
};

/// CRC-32 of zlib and Ethernet, chained as above. crc32("123456789") = 0xCBF43926.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;

}  // namespace rashpa
