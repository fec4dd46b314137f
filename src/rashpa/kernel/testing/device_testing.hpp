// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of the tests of CUDA kernels: a new seed in each run.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

#include "rashpa/kernel/device/device_array.hpp"

namespace rashpa::kernel {

/// Returns the seed of this run's random data, printed once. RASHPA_SEED=… in the environment repeats a run.
inline std::uint32_t test_seed() {
  static const std::uint32_t value = [] {
    const char* given = std::getenv("RASHPA_SEED");
    const auto chosen =
        given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device()();
    std::cout << "RASHPA_SEED=" << chosen << '\n';
    return chosen;
  }();
  return value;
}

}  // namespace rashpa::kernel
