// SPDX-License-Identifier: Apache-2.0
#pragma once
/// All kernels of this program. A kernel is added by one line in registry.cpp.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel {

const std::vector<const Kernel*>& kernels();

/// Throws ConfigError that lists the kernels when `name` is none of them.
const Kernel& kernel_named(std::string_view name);

/// Throws ConfigError when a kernel from outside the program has the name of one of these.
void check_new_name(const Declaration& declaration);

/// schema/kernels.json: every declaration.
std::string kernels_json();

}  // namespace rashpa::kernel
