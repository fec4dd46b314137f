// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Packet faults of one DTP that a card makes: drawn before the run, packet by packet, as a sender in software draws
/// them (the same seed hits the same packets), so that the card's table can name them and the log knows every fate.
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/card/card.hpp"
#include "rashpa/card/registers.hpp"
#include "rashpa/core/books/books.hpp"
#include "rashpa/emulator/config.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/link/roce/options.hpp"

namespace rashpa::emulator {

struct CardFault {
  std::uint64_t image = 0;
  std::uint32_t psn = 0;
  card::registers::FaultKind kind = card::registers::FaultKind::nothing;
  std::uint32_t bit = 0;  ///< of the frame: 8 · byte + bit
};

struct CardFaults {
  std::vector<CardFault> all;
  std::vector<Completeness> fates;  ///< results that the receiver must find, by image; empty: all complete
};

/// The shape of a DTP's packets.
struct CardPacketShape {
  link::fpga::CardPackets packets{};
  std::uint64_t pitch_bytes = 0;  ///< of frames in card memory
  std::uint32_t pixel_bytes = 2;
  bool ipv6 = false;
  bool icrc_checked = true;  ///< by the receiver; else only payload CRC32Cs find a flipped bit
  std::uint32_t first_psn = 0;
};

/// Throws ConfigError for kinds of faults that a card cannot make, and for a DTP with more packets than there are PSNs.
CardFaults draw_card_faults(const FaultPlan& plan, const transfer::Dtp& dtp, const CardPacketShape& shape);

/// Writes faults into the card's table, in place of those of an earlier run; `faults`: those of the DTP at each place
/// of the table of DTPs. Throws ConfigError when the card can make none, or fewer.
void write_card_faults(card::Card& card, std::span<const std::span<const CardFault>> faults);

}  // namespace rashpa::emulator
