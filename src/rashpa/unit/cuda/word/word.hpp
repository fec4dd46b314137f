// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The trigger `word`: the device begins a stack when the last words of all its DTPs are there.
#include <cstdint>
#include <string>

#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

/// The most stacks that are enqueued ahead, far below the length at which a launch would wait.
inline constexpr std::uint32_t kMostStacksAhead = 256;

/// Returns why the trigger cannot start such a pipeline; empty when it can.
std::string word_refusal(const Steps& steps, const Layout& layout);

}  // namespace rashpa::unit::cuda
