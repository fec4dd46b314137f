// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa::wire {

/// Extends a packet's 24-bit number (PSN) to 64 bits, so that numbers of one sender stay comparable over any time.
/// Packets may come out of order by up to kReordered places; one that seems further back was sent after an outage. One
/// thread.
class PacketNumbers {
 public:
  static constexpr std::uint32_t kReordered = 1U << 16;
  /// The number of consecutive packets from further back that prove an outage rather than reordering: the sender's
  /// numbers have wrapped.
  static constexpr std::uint32_t kBehind = 1U << 12;

  /// Returns the packet's number in 64 bits, without whole rounds of 2^24 packets during an outage.
  std::uint64_t extend(std::uint32_t psn) noexcept {
    if (latest_ == 0) {
      latest_ = kRound + (psn & (kRound - 1));  // room for packets before the first one
      return latest_;
    }
    const auto ahead = static_cast<std::uint32_t>((psn - latest_) & (kRound - 1));
    if (ahead >= kRound - kReordered && ++behind_ <= kBehind) [[unlikely]]
      return latest_ - (kRound - ahead);
    behind_ = 0;
    latest_ += ahead;
    return latest_;
  }

 private:
  static constexpr std::uint64_t kRound = 1U << 24;
  std::uint64_t latest_ = 0;  // 0: no packet has come
  std::uint32_t behind_ = 0;  // in a row
};

}  // namespace rashpa::wire
