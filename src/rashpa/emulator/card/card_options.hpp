// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parts of an emulator's configuration that a card supports.
#include "rashpa/emulator/config.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/link/roce/options.hpp"

namespace rashpa::emulator {

/// Returns the link options of `config` for a card. Throws ConfigError for any option that a card does not support.
const link::roce::Options& card_options(const Config& config);

/// Returns the packet settings of a card for these link options.
link::fpga::CardPackets card_packets(const link::roce::Options& options);

}  // namespace rashpa::emulator
