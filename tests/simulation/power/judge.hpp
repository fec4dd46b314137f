// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "power/stored_run.hpp"
#include "power/trace.hpp"

namespace rashpa::simulation::power {

/// The promises that a run has made when the power fails.
struct Due {
  bool earlier = false;         ///< the earlier run must be there, whole …
  bool earlier_or_own = false;  ///< … or this one has its name
  bool begun = false;
  std::uint64_t safe = 0;  ///< the first accepted images that must be found
  std::string which{};     ///< … or those of a letter '1', where it is told
  bool settled = false;
  bool closed = false;                         ///< the master is whole before any repair
  bool converting = false, converted = false;  ///< another one is being made of it, and is whole
};
Due due_at(const Trace& trace, std::size_t cut);

/// Repairs what the power has left in the folder, and reads all of it. Returns the first thing that is wrong, or
/// nothing. `said`: the product's own words, when it refuses.
std::string judge(const StoredRun& run, const Due& due, const std::filesystem::path& folder, std::string& said);

}  // namespace rashpa::simulation::power
