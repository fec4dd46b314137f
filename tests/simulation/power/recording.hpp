// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A disk that keeps all that it is asked for: it takes the place of the simulator's (disk.hpp).
#include "power/trace.hpp"

namespace rashpa::simulation::power {

/// So far.
const Trace& recorded() noexcept;
void mark(const char* what, std::uint64_t images);

}  // namespace rashpa::simulation::power
