// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Plays a scenario with the product, in this process and on the virtual clock, and says what was wrong.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "scenario.hpp"

namespace rashpa::simulation {

struct Result {
  std::vector<std::string> wrong;
  std::uint64_t digest = 0;
  std::uint64_t switches = 0;
  std::int64_t ns = 0;  ///< of the virtual clock
  std::uint64_t complete = 0, expected = 0;
};

/// Once in a process. `folder`: for files of the run; empty and of nobody else.
Result play(const Scenario& scenario, const std::filesystem::path& folder);

}  // namespace rashpa::simulation
