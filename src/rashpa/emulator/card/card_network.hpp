// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which way the packets of a card's DTPs go, and where credits come back to.
#include <array>
#include <cstdint>
#include <string>

#include "rashpa/emulator/config.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/link/words.hpp"

namespace rashpa::emulator {

/// Six pairs of hexadecimal digits with colons. Throws ConfigError.
std::array<std::uint8_t, 6> mac_of(const std::string& text);

/// The way of one DTP, with a PSN drawn for this run. A `simulated` card that is given no MAC addresses sends by
/// sockets of this machine, from a port that is free; one in a network from one of those that RoCEv2 uses, and needs
/// them. Throws ConfigError, which names the DTP, and ResourceError when no port is free.
link::fpga::CardPath card_path(const Config& config, const SourceDtp& source, bool simulated);

/// Returns where the receiver writes the credits of a DTP that is sent by `path`: queue pair and key drawn for this
/// run, so that a credit of the run before is no credit of this one.
link::Endpoint card_endpoint(const Config& config, const link::fpga::CardPath& path);

}  // namespace rashpa::emulator
