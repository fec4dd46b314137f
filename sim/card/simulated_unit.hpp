// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A card with a processing unit in a directory, at work: the model and its directory, joined.
#include <atomic>
#include <cstdint>
#include <filesystem>

#include "card_model.hpp"
#include "unit_directory.hpp"
#include "unit_model.hpp"

namespace rashpa::sim {

/// One thread. The directory is there from the constructor to the destructor.
class SimulatedUnit {
 public:
  /// Throws what UnitDirectory throws. `answers`: bytes of memory that do not answer with an error; 0: all.
  SimulatedUnit(std::filesystem::path directory, std::uint64_t memory_bytes, const CardTimes& times = {},
                std::uint64_t seed = 1, std::uint64_t answers = 0);

  /// Works until `stop` is true. A unit that has nothing to do sleeps, at most 100 µs at a time; its cycles stand
  /// still, as they do while `held` is true.
  void run(const std::atomic<bool>& stop, const std::atomic<bool>* held = nullptr, std::atomic<bool>* still = nullptr);

  [[nodiscard]] std::uint64_t cycles() const noexcept { return model_.cycles(); }

 private:
  UnitDirectory directory_;
  UnitModel model_;
};

}  // namespace rashpa::sim
