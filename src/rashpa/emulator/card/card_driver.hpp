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

/// A driver of an emulator's card: commands and counts of its DTPs. It knows registers, but no datasets, times or
/// books. It translates places of the card's table to DTP ids. One thread; nothing allocates during a run unless it
/// throws or counts() is called. All functions throw what the card's nodes throw.
class CardDriver {
 public:
  /// Opens and reserves the card, and ends a run that an earlier program left active. Throws FileError and
  /// ResourceError when there is no card, StateError when another owner has it.
  explicit CardDriver(std::filesystem::path directory);

  /// Clears all tables before the first add_dtp(): no DTP has credits, frames or a description.
  void clear();
  /// Adds a DTP at the next place of the table.
  void add_dtp(std::uint32_t id, const card::registers::DtpTable& table);
  /// Carries out `command`. Throws StateError with the card's reason when the card refuses or does not answer.
  void carry_out(card::Command command);
  /// Aborts the card's run unless the card is idle.
  void abort_unless_idle();
  void abort_if_running();

  /// Returns nothing while the run is active. Afterwards returns the reason for which it ended by itself; an empty text
  /// means that all images were sent.
  [[nodiscard]] std::optional<std::string> ended() const;
  /// The images of a DTP whose events were sent, and those that were skipped.
  struct Progress {
    std::uint64_t sent = 0, skipped = 0;
    friend bool operator==(const Progress&, const Progress&) = default;
  };
  /// Returns the present progress. `known` is an earlier progress, less than 2^32 images before.
  [[nodiscard]] Progress progress(std::size_t place, const Progress& known) const;
  [[nodiscard]] std::uint64_t packets(std::size_t place) const;
  [[nodiscard]] std::uint64_t bytes(std::size_t place) const;  ///< payload bytes sent
  /// Returns a word in which bit n is set while the DTP at place n waits for credits.
  [[nodiscard]] std::uint32_t waiting() const;
  /// Returns the counters of the run (docs/how-to/use_a_card.md). Throws FileError when the card is gone.
  [[nodiscard]] link::Counts counts() const;

  /// Allows the DTP at `place` to read the frames before `frames`, modulo 2^32.
  void make_available(std::size_t place, std::uint64_t frames);
  /// Sleeps until the card reports an end, for at most `microseconds`.
  void wait(std::uint32_t microseconds) { card_.wait(microseconds); }

  /// Returns true when a program simulates the card; its timing is not that of hardware.
  [[nodiscard]] bool simulated() const noexcept { return simulated_; }
  /// Returns a description: "a simulated card with 1048576 bytes of memory in /tmp/card".
  [[nodiscard]] std::string description() const;
  /// Returns the card, for code that fills its memory and its table of faults.
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
