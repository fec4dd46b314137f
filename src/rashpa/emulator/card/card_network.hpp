// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Network paths of a card's DTPs, and the endpoints to which credits return.
#include <array>
#include <cstdint>
#include <string>

#include "rashpa/emulator/config.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/link/words.hpp"

namespace rashpa::emulator {

/// Reads a MAC address of six pairs of hexadecimal digits with colons. Throws ConfigError.
std::array<std::uint8_t, 6> mac_of(const std::string& text);

/// Returns the path of one DTP, with a PSN drawn for this run. A `simulated` card without MAC addresses sends through a
/// socket of this machine, from a free port. A card in a network needs MAC addresses and sends from a port of the
/// RoCEv2 range. Throws ConfigError, which names the DTP, and ResourceError when no port is free.
link::fpga::CardPath card_path(const Config& config, const SourceDtp& source, bool simulated);

/// Returns the endpoint to which the receiver writes credits of a DTP with `path`. Queue pair and key are drawn for
/// this run, so that credits of an earlier run do not match.
link::Endpoint card_endpoint(const Config& config, const link::fpga::CardPath& path);

}  // namespace rashpa::emulator
