// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "rashpa/wire/address.hpp"

namespace rashpa::wire {

/// The headers before the BTH with RoCEv1: the Ethernet header and the global route header.
class FrameHeader {
 public:
  static constexpr std::size_t kEthernet = 14;
  static constexpr std::size_t kGrh = 40;
  static constexpr std::size_t kBytes = kEthernet + kGrh;
  /// The congestion bits of the traffic class: none, or the support of marks.
  enum class Ecn : std::uint8_t { none = 0, capable = 2 };

  /// Prepares the header of frames between two GIDs in the form of gid_address().
  FrameHeader(const Address& source, const Address& destination, Ecn ecn) noexcept;

  /// Writes kBytes bytes for a packet of `transport` bytes (BTH … ICRC).
  void write(std::byte* at, std::size_t transport) const noexcept;

 private:
  std::array<std::byte, kBytes> bytes_{};
};

}  // namespace rashpa::wire
