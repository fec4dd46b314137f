// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "rashpa/link/words.hpp"

namespace rashpa::link::fpga {

/// The card that sends, and the settings of its packets. The other end must agree on `pmtu` and `packetisation`.
struct Options {
  std::string card = "/dev";  ///< directory of the card's nodes: that of the xdma driver, or of a simulated card
  std::uint32_t pmtu = 4096;  ///< payload bytes of a packet: 256, 512, 1024, 2048 or 4096
  Packetisation packetisation = Packetisation::only;
  /// The MAC address, such as "02:00:00:00:00:01". Empty means 0, for a simulated card, whose packets leave through
  /// sockets. A card cannot request addresses from the network.
  std::string source_mac{};
  std::string destination_mac{};  ///< MAC address of the destination, or of the first router
};

/// Throws ConfigError when a member is invalid.
void check(const Options& options);

/// Returns the bytes of "02:00:00:00:00:01", or zeros for an empty text. Throws ConfigError that names `key`.
std::array<std::uint8_t, 6> mac_of(const char* key, const std::string& text);

}  // namespace rashpa::link::fpga
