// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Packet faults of a DTP that a card sends: drawn as a sender in software draws them, and written to the card before
/// the packets are.
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

/// One packet that the card drops, or damages.
struct CardFault {
  std::uint32_t psn = 0;
  card::registers::FaultKind kind = card::registers::FaultKind::nothing;
  std::uint32_t bit = 0;  ///< of the frame: 8 · byte + bit
};

/// A bit of the payload of a frame. `checked`: such that every check of the ICRC finds it flipped, also one that does
/// not know the identification of IPv4.
std::uint32_t draw_flip(roce::FaultDice& dice, std::uint8_t opcode, std::uint32_t bytes, bool ipv6,
                        bool checked = true);

struct PacketShape {
  std::uint32_t pmtu = 4096;
  Packetisation packetisation = Packetisation::only;
  bool ipv6 = false;
  std::uint32_t first_psn = 0;
};

/// Draws for one message after the other, and keeps the log of the fates that the receiver must find, where it checks
/// the ICRC. The DTP's thread; counts() and fates(): any.
class PacketFaults {
 public:
  /// Throws ConfigError for faults that a card cannot make.
  PacketFaults(const FaultConfig& config, std::uint32_t dtp, std::uint64_t images, std::uint64_t payload_bytes,
               const PacketShape& shape);

  /// The faults of the packets of the next message, a write of `bytes` bytes; the same until posted() is called.
  [[nodiscard]] std::span<const CardFault> of_write(std::uint32_t bytes);
  /// The next message is the event of image `index`.
  [[nodiscard]] std::span<const CardFault> of_event(std::uint64_t index);
  void posted() noexcept { drawn_ = false; }

  [[nodiscard]] FaultCounts counts() const noexcept { return {.drop = dropped_.get(), .corrupt = corrupted_.get()}; }
  [[nodiscard]] const Fates* fates() const noexcept { return &log_; }

 private:
  /// Returns true when the packet arrives as it was.
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
