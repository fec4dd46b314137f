// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa::wire {

/// Extends the 24 bits of a packet's number (PSN) to 64, so that numbers of one sender can be compared over any time.
/// Packets may come out of order by up to kReordered places; a packet that seems to lie further back was sent after an
/// outage. One thread.
class PacketNumbers {
 public:
  static constexpr std::uint32_t kReordered = 1U << 16;
  /// The number of packets in a row from further back that are no reordering: the sender has gone round.
  static constexpr std::uint32_t kBehind = 1U << 12;

  /// Returns the number of the packet in 64 bits. An outage of whole rounds of 2^24 packets is left out of it.
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
