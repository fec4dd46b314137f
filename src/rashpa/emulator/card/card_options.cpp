// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/card_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <variant>

#include "rashpa/card/registers.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::emulator {

namespace {

constexpr std::uint32_t kLongestMessage = 64;  // packets

}  // namespace

const link::roce::Options& card_options(const Config& config) {
  const auto* options = std::get_if<link::roce::Options>(&config.link);
  if (options == nullptr || options->transport != link::Transport::uc || options->framing != link::roce::Framing::v2) {
    throw ConfigError(
        "emulator: a card sends RoCEv2 by Unreliable Connected queue pairs; use, with engine \"fpga\", the emulator's "
        "link roce, transport uc and framing v2");
  }
  if (std::ranges::any_of(config.dtps, [](const SourceDtp& source) { return source.link.has_value(); })) {
    throw ConfigError(
        "emulator: a card sends to all receivers by the link roce; give those of other links another emulator");
  }
  if (config.dtps.size() > card::registers::dtp_table::kCount) {
    throw ConfigError(fmt::format("emulator: {} DTPs; a card plays {}: use fewer bands, or several emulators",
                                  config.dtps.size(), card::registers::dtp_table::kCount));
  }
  const FaultPlan& faults = config.faults;
  if (faults.stall > 0 || !faults.dead_modules.empty()) {
    throw ConfigError(
        "emulator: a card drops and corrupts packets, and no more; use engine \"software\" for stalls and dead "
        "modules");
  }
  if (faults.packets() && config.on_full == transfer::OnFull::skip) {
    throw ConfigError(
        "emulator: a card finds packets to be hit by their number, which on_full = \"skip\" moves; use \"pause\", or "
        "no faults");
  }
  return *options;
}

link::fpga::CardPackets card_packets(const link::roce::Options& options) {
  link::fpga::CardPackets packets{
      .pmtu = options.pmtu, .packetisation = options.packetisation, .largest_message = options.pmtu};
  if (options.packetisation == link::Packetisation::first_middle_last) packets.largest_message *= kLongestMessage;
  return packets;
}

}  // namespace rashpa::emulator
