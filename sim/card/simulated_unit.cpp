// SPDX-License-Identifier: Apache-2.0
#include "simulated_unit.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace rashpa::sim {

namespace {
constexpr auto kNap = std::chrono::microseconds(100);  // the longest that a doorbell waits for a unit that sleeps
}

SimulatedUnit::SimulatedUnit(std::filesystem::path directory, std::uint64_t memory_bytes, const CardTimes& times,
                             std::uint64_t seed, std::uint64_t answers)
    : directory_(std::move(directory), memory_bytes),
      model_(answers == 0 ? directory_.memory() : directory_.memory().first(answers), times, seed) {
  directory_.serve(model_);
}

void SimulatedUnit::run(const std::atomic<bool>& stop, const std::atomic<bool>* held, std::atomic<bool>* still) {
  while (!stop) {
    const bool stands = held != nullptr && *held;
    if (still != nullptr) *still = stands;
    if (stands || !directory_.serve(model_)) std::this_thread::sleep_for(kNap);
  }
}

}  // namespace rashpa::sim
