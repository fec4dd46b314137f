// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A kernel that stays on the device, polls the trigger word in host memory and runs the whole pipeline of a stack by
/// itself: no launch between the trigger and the first result. For stacks that it reads over the bus itself.
#include <cstddef>
#include <string>

#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

/// Images of a stack: their work flags travel in one word.
inline constexpr std::uint32_t kResidentImages = 32;
/// Stacks above it gain more from the copy engine than they lose by a launch.
inline constexpr std::size_t kResidentPaysBytes = std::size_t{1} << 20;

/// Why the resident kernel cannot run such a pipeline; empty when it can.
std::string resident_refusal(const Steps& steps, const Layout& layout);

}  // namespace rashpa::unit::cuda
