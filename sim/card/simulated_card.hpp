// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A card in a directory, at work: the model, its directory and its network, joined.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "card_directory.hpp"
#include "card_model.hpp"
#include "network.hpp"

namespace rashpa::sim {

/// One thread. The directory is there from the constructor to the destructor.
class SimulatedCard {
 public:
  /// Throws what CardDirectory throws.
  SimulatedCard(std::filesystem::path directory, std::uint64_t memory_bytes, std::unique_ptr<Network> network,
                const CardTimes& times = {}, std::uint64_t seed = 1);

  /// Works until `stop` is true, which it looks at every millisecond. A card that has nothing to do sleeps; its cycles
  /// stand still.
  void run(const std::atomic<bool>& stop);

  [[nodiscard]] std::uint64_t cycles() const noexcept { return model_.cycles(); }
  [[nodiscard]] const Network& network() const noexcept { return *network_; }

 private:
  CardDirectory directory_;
  std::unique_ptr<Network> network_;
  CardModel model_;
};

}  // namespace rashpa::sim
