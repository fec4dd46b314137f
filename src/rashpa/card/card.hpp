// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The detector card (rtl/sender) as its driver accesses it: commands, the table of DTPs, and errors.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "rashpa/card/nodes.hpp"
#include "rashpa/card/registers.hpp"

namespace rashpa::card {

/// The error for which the card ended a run or refused Arm, as the card's error registers give it.
struct CardError {
  registers::ErrorCode code = registers::ErrorCode::none;
  std::uint32_t dtp = 0;   ///< position of the DTP in the card's table, 0 … 15
  std::uint32_t word = 0;  ///< number of the wrong word of the table; valid for word_zero, word_unaligned and mtu
  std::uint32_t line = 0;  ///< number of the faulty descriptor, counted since Arm; valid for descriptor_… errors
};

/// Returns the error as text: the fault, its DTP, and the line, descriptor or table word.
std::string text_of(const CardError& error);

/// The commands of the card. Each has a doorbell register and a counter of completed commands.
enum class Command : std::uint8_t { arm, start, abort };

/// An open card with a sender. The thread rules of Nodes hold.
class Card final : public Nodes {
 public:
  /// Opens the card. Throws as the constructor of Nodes does.
  explicit Card(const std::filesystem::path& directory, const std::string& device = "xdma0");

  /// Writes the table of DTP `dtp` (0 … 15). Call it only while no run is active.
  void write_table(std::size_t dtp, const registers::DtpTable& table);

  [[nodiscard]] registers::State state() const noexcept;
  /// Returns the first error since Arm, or nothing when there is none.
  [[nodiscard]] std::optional<CardError> error() const noexcept;
  /// Rings the doorbell of `command`. Returns the value that command_done() has when the command is complete.
  std::uint32_t ring(Command command) noexcept;
  [[nodiscard]] bool command_done(Command command, std::uint32_t count) const noexcept;
  /// Rings the doorbell and waits for completion. Throws StateError when the card refuses the command or does not
  /// complete it within `wait_us` microseconds; text_of(error()) gives the card's reason.
  void carry_out(Command command, std::uint32_t wait_us = 1'000'000);
};

}  // namespace rashpa::card
