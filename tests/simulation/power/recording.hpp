// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A disk that keeps all that it is asked for: it takes the place of the simulator's (disk.hpp).
#include "power/trace.hpp"

namespace rashpa::simulation::power {

/// So far.
const Trace& recorded() noexcept;
/// `which`: a letter an image, '1' of those that are safe; empty: the first accepted ones.
void mark(const char* what, std::uint64_t images, const std::string& which = {});
/// Lets the disk take so many more bytes than its files have now.
void leave_room(std::uint64_t bytes);

}  // namespace rashpa::simulation::power
