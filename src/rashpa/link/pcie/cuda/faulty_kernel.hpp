// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rashpa::link::pcie {

/// Breaks the current device for this process: for tests of the time after it. Does not wait.
void fault_now() noexcept;

}  // namespace rashpa::link::pcie
