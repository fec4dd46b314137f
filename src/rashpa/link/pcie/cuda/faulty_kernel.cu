// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/cuda/faulty_kernel.hpp"

namespace rashpa::link::pcie {

namespace {
__global__ void trap() { __trap(); }
}  // namespace

void fault_now() noexcept { trap<<<1, 1>>>(); }

}  // namespace rashpa::link::pcie
