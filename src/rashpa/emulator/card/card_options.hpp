// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parts of an emulator's configuration that a card can do.
#include "rashpa/emulator/config.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/link/roce/options.hpp"

namespace rashpa::emulator {

/// Returns the options in `config` of the link that a card sends by. Throws ConfigError for anything that a card cannot
/// do.
const link::roce::Options& card_options(const Config& config);

/// Returns how a card sends by that link.
link::fpga::CardPackets card_packets(const link::roce::Options& options);

}  // namespace rashpa::emulator
