// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Packet faults of a DTP that a card sends. They are drawn as a software sender draws them, and written to the card
/// before the packets.
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/card/registers.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/faults.hpp"
#include "rashpa/link/roce/faults/faults.hpp"
#include "rashpa/link/words.hpp"
#include "rashpa/wire/packet/opcode.hpp"

namespace rashpa::link::fpga {

/// One packet that the card drops or corrupts.
struct CardFault {
  std::uint32_t psn = 0;
  card::registers::FaultKind kind = card::registers::FaultKind::nothing;
  std::uint32_t bit = 0;  ///< bit of the frame: 8 · byte + bit
};

/// Returns a bit of a frame's payload to flip. `checked`: any check of the ICRC finds the flip, even one without the
/// identification of IPv4.
std::uint32_t draw_flip(roce::FaultDice& dice, std::uint8_t opcode, std::uint32_t bytes, bool ipv6,
                        bool checked = true);

struct PacketShape {
  std::uint32_t pmtu = 4096;
  Packetisation packetisation = Packetisation::only;
  bool ipv6 = false;
  std::uint32_t first_psn = 0;
};

/// Draws faults message by message, and logs the completeness that a receiver with ICRC checks must find. The DTP's
/// thread calls it; any thread may call counts() and fates().
class PacketFaults {
 public:
  /// Prepares the faults. Throws ConfigError for faults that a card cannot inject.
  PacketFaults(const FaultConfig& config, std::uint32_t dtp, std::uint64_t images, std::uint64_t payload_bytes,
               const PacketShape& shape);

  /// Returns the faults of the next message's packets, a write of `bytes` bytes; the same until posted() is called.
  [[nodiscard]] std::span<const CardFault> of_write(std::uint32_t bytes);
  /// Returns the faults of the next message, the event of image `index`.
  [[nodiscard]] std::span<const CardFault> of_event(std::uint64_t index);
  void posted() noexcept { drawn_ = false; }

  [[nodiscard]] FaultCounts counts() const noexcept { return {.drop = dropped_.get(), .corrupt = corrupted_.get()}; }
  [[nodiscard]] const Fates* fates() const noexcept { return &log_; }

 private:
  /// Draws the fate of a packet; returns true when it arrives unchanged.
  bool draw(std::uint8_t opcode, std::uint32_t bytes);

  roce::FaultDice dice_;
  roce::FateLog log_;
  PacketShape shape_;
  std::uint32_t psn_;
  std::uint64_t lines_ = 0;  // packets of the image
  bool drawn_ = false;
  std::vector<CardFault> faults_;
  Counter dropped_, corrupted_;
};

}  // namespace rashpa::link::fpga
