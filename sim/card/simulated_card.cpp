// SPDX-License-Identifier: Apache-2.0
#include "simulated_card.hpp"

#include <utility>

namespace rashpa::sim {

namespace {
constexpr std::uint32_t kNapUs = 1'000;  // the longest that a doorbell waits for a card that sleeps
}

SimulatedCard::SimulatedCard(std::filesystem::path directory, std::uint64_t memory_bytes,
                             std::unique_ptr<Network> network, const CardTimes& times, std::uint64_t seed)
    : directory_(std::move(directory), memory_bytes),
      network_(std::move(network)),
      model_(
          directory_.memory(), [this](std::span<const std::byte> frame) { return network_->send(frame); }, times,
          seed) {
  directory_.serve(model_);
}

void SimulatedCard::run(const std::atomic<bool>& stop) {
  const auto armed = [this](std::span<const card::registers::DtpTable> tables) { network_->listen(tables); };
  while (!stop) {
    network_->receive(model_);
    if (!directory_.serve(model_, armed)) network_->wait(kNapUs);
  }
}

}  // namespace rashpa::sim
