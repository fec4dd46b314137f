// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rashpa::link::pcie {

/// Breaks the current device for this process: for tests of what comes then. Does not wait.
void fault_now() noexcept;

}  // namespace rashpa::link::pcie
