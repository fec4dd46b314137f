// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Packet faults of one DTP that a card injects. They are drawn before the run, packet by packet, as a software sender
/// draws them: the same seed hits the same packets. So the card's table can list them, and the log knows each fate.
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
  std::uint32_t bit = 0;  ///< bit of the frame: 8 · byte + bit
};

struct CardFaults {
  std::vector<CardFault> all;
  std::vector<Completeness> fates;  ///< results that the receiver must find, by image; empty: all images complete
};

/// The sizes of a DTP's packets.
struct CardPacketShape {
  link::fpga::CardPackets packets{};
  std::uint64_t pitch_bytes = 0;  ///< distance of lines in card memory
  std::uint32_t pixel_bytes = 2;
  bool ipv6 = false;
  bool icrc_checked = true;  ///< true: the receiver checks the ICRC; false: only payload CRC32Cs find a flipped bit
  std::uint32_t first_psn = 0;
};

/// Draws the faults of one DTP. Throws ConfigError for kinds of faults that a card cannot inject, and for a DTP with
/// more packets than there are PSNs.
CardFaults draw_card_faults(const FaultPlan& plan, const transfer::Dtp& dtp, const CardPacketShape& shape);

/// Writes faults into the card's table and replaces those of an earlier run. `faults` has an entry for each DTP of the
/// card, by place. Throws ConfigError when the card can inject none, or too few.
void write_card_faults(card::Card& card, std::span<const std::span<const CardFault>> faults);

}  // namespace rashpa::emulator
