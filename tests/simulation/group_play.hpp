// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Plays a scenario of receivers among which images are dealt. The hand gives the orders that the manager would give.
#include "play.hpp"

namespace rashpa::simulation {

/// In a world that has begun.
Result play_group(const Scenario& scenario);

}  // namespace rashpa::simulation
