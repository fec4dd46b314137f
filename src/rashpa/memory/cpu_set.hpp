// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rashpa::memory {

/// Returns how many processors this process may use (hwloc, the process's own binding respected).
unsigned processor_count();

/// Names the calling thread (15 characters at most) and, when `processor` ≥ 0, binds it to that processor of those
/// allowed (counted modulo their number). Returns false when the system refused to bind; the thread then runs unbound.
bool place_this_thread(const std::string& name, int processor) noexcept;

}  // namespace rashpa::memory
