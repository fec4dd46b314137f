// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "rashpa/link/words.hpp"

namespace rashpa::link::fpga {

/// Describes which card sends, and how its packets are made. The other end must agree on `pmtu` and `packetisation`.
struct Options {
  std::string card = "/dev";  ///< directory of the card's nodes: that of the driver xdma, or of a simulated card
  std::uint32_t pmtu = 4096;  ///< 256, 512, 1024, 2048 or 4096 payload bytes a packet
  Packetisation packetisation = Packetisation::only;
  /// The MAC address, such as "02:00:00:00:00:01". Empty: 0, for a simulated card, whose packets leave by sockets. A
  /// card asks nobody for addresses.
  std::string source_mac{};
  std::string destination_mac{};  ///< of the destination, or of the first router
};

/// Throws ConfigError when a member is not allowed.
void check(const Options& options);

/// The bytes of "02:00:00:00:00:01", zeros of an empty text. Throws ConfigError that names `key`.
std::array<std::uint8_t, 6> mac_of(const char* key, const std::string& text);

}  // namespace rashpa::link::fpga
