// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rashpa::memory {

/// Returns the number of processors that this process may use (from hwloc, within the process's own binding).
unsigned processor_count();

/// Names the calling thread (at most 15 characters). With `processor` ≥ 0, also binds it to that one of the allowed
/// processors (modulo their number). Returns false when the system refused to bind; the thread then runs unbound.
bool place_this_thread(const std::string& name, int processor) noexcept;

}  // namespace rashpa::memory
