// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sender, as its driver sees it.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "rashpa/card/nodes.hpp"
#include "rashpa/card/registers.hpp"

namespace rashpa::card {

/// The error that ended a run, or refused Arm, in the card's words.
struct CardError {
  registers::ErrorCode code = registers::ErrorCode::none;
  std::uint32_t dtp = 0;   ///< place in the table, 0 … 15
  std::uint32_t word = 0;  ///< of the table, for word_zero, word_unaligned and mtu
  std::uint32_t line = 0;  ///< which descriptor since Arm (descriptor_…)
};

/// The same in words: the fault, its DTP, and the line, descriptor or word of the table.
std::string text_of(const CardError& error);

/// Three commands, each a doorbell and a count of done.
enum class Command : std::uint8_t { arm, start, abort };

/// An open card with a sender. Threads as of Nodes.
class Card final : public Nodes {
 public:
  /// Throws what Nodes throws.
  explicit Card(const std::filesystem::path& directory, const std::string& device = "xdma0");

  /// Writes the table of DTP `dtp` (0 … 15); no run may be on.
  void write_table(std::size_t dtp, const registers::DtpTable& table);

  [[nodiscard]] registers::State state() const noexcept;
  /// The first error since Arm; nothing when there is none.
  [[nodiscard]] std::optional<CardError> error() const noexcept;
  /// Rings once more; returns the count that command_done() is to see.
  std::uint32_t ring(Command command) noexcept;
  [[nodiscard]] bool command_done(Command command, std::uint32_t count) const noexcept;
  /// Rings and waits. Throws StateError when the card refuses (text_of(error()) says why) or does not answer in
  /// `wait_us`.
  void carry_out(Command command, std::uint32_t wait_us = 1'000'000);
};

}  // namespace rashpa::card
