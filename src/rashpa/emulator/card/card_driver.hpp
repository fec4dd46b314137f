// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/card/card.hpp"
#include "rashpa/card/registers.hpp"
#include "rashpa/link/counters.hpp"

namespace rashpa::emulator {

/// A card that an emulator drives, as commands and counts of DTPs: it knows registers, and neither datasets nor times
/// nor books. Its DTPs have ids where the card has places of a table. One thread; nothing allocates during a run unless
/// it throws or `counts` is asked. All functions throw what the card's nodes throw.
class CardDriver {
 public:
  /// Opens and takes the card, and ends a run that a program has left in the middle. Throws FileError and ResourceError
  /// when there is no card, StateError when somebody else has it.
  explicit CardDriver(std::filesystem::path directory);

  /// Clears all tables before the first set_dtp(): no DTP is granted, given or described anything.
  void clear();
  /// The DTP at the next place of the table.
  void add_dtp(std::uint32_t id, const card::registers::DtpTable& table);
  /// Throws StateError, with the card's reason, when it refuses or does not answer.
  void carry_out(card::Command command);
  /// Aborts the card's run, which ends whatever the card does.
  void abort_unless_idle();
  void abort_if_running();

  /// Returns nothing while the run goes on, and then why it ended by itself, in words; empty: all images are out.
  [[nodiscard]] std::optional<std::string> ended() const;
  /// Images of a DTP whose events have left, and that were skipped.
  struct Progress {
    std::uint64_t sent = 0, skipped = 0;
    friend bool operator==(const Progress&, const Progress&) = default;
  };
  /// The progress by now, where `known` is that of an earlier look, less than 2^32 images ago.
  [[nodiscard]] Progress progress(std::size_t place, const Progress& known) const;
  [[nodiscard]] std::uint64_t packets(std::size_t place) const;
  [[nodiscard]] std::uint64_t bytes(std::size_t place) const;  ///< payload
  /// Bit n is set while the DTP at place n waits for credits.
  [[nodiscard]] std::uint32_t waiting() const;
  /// The counters of the run (docs/how-to/use_a_card.md). Throws FileError when the card is gone.
  [[nodiscard]] link::Counts counts() const;

  /// The DTP at that place may read the frames before `frames`, modulo 2^32.
  void make_available(std::size_t place, std::uint64_t frames);
  /// Sleeps until something has ended, or so long.
  void wait(std::uint32_t microseconds) { card_.wait(microseconds); }

  /// Returns true when a program plays the card. Its time is not that of a card.
  [[nodiscard]] bool simulated() const noexcept { return simulated_; }
  /// "a simulated card with 1048576 bytes of memory in /tmp/card".
  [[nodiscard]] std::string description() const;
  /// The card, for others to fill its memory and its table of faults.
  [[nodiscard]] card::Card& card() noexcept { return card_; }

 private:
  struct Dtp {
    std::uint32_t id = 0;
    card::registers::DtpTable table{};
  };
  [[nodiscard]] std::string error() const;

  std::filesystem::path directory_;
  card::Card card_;
  bool simulated_;
  std::vector<Dtp> dtps_;  // by place
};

}  // namespace rashpa::emulator
