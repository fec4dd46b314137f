// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A directory that looks like a card with a processing unit: files, behind them the model. Whoever opens it by
/// rashpa::card::UnitCard cannot tell which of both it is, but by the clock, which is 0.
#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

#include "node_files.hpp"
#include "rashpa/card/unit_registers.hpp"
#include "unit_model.hpp"

namespace rashpa::sim {

/// One thread.
class UnitDirectory {
 public:
  /// Throws what NodeFiles throws.
  UnitDirectory(std::filesystem::path directory, std::uint64_t memory_bytes);

  [[nodiscard]] std::span<std::byte> memory() const noexcept { return files_.memory(); }

  /// Carries what software has written to the model, lets it go on, and publishes what it says. False: the unit had
  /// nothing to do, and no cycle has passed.
  bool serve(UnitModel& model);

 private:
  void carry(UnitModel& model, std::uint32_t from, std::uint32_t bytes);
  void publish(UnitModel& model, std::uint32_t from, std::uint32_t bytes);

  NodeFiles files_;
  std::array<std::uint32_t, card::unit_registers::kPageBytes / 4> carried_{};  // what the model has of software's words
  bool first_ = true;                                                          // the model has nothing of the page yet
  bool busy_ = true;
};

}  // namespace rashpa::sim
