// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rashpa::link::pcie {

/// Makes the current device fail for this process, to test what follows. Does not wait.
void fault_now() noexcept;

}  // namespace rashpa::link::pcie
