// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa::sim {

/// Prints what the simulated processing unit makes of stacks of 0.5M and 1M pixels, a row a line, and what the
/// simulation of ten images of 1M took of one core. Memory answers after `latency` cycles. False: an image was not
/// processed, or its counts are not those of its words.
bool print_unit_rows(std::uint32_t latency, std::uint32_t seed);

}  // namespace rashpa::sim
