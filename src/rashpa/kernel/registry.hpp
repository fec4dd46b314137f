// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The registry of all kernels of this program. One line in registry.cpp adds a kernel.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel {

const std::vector<const Kernel*>& kernels();

/// Returns the kernel `name`. Throws ConfigError with a list of all kernels when there is none.
const Kernel& kernel_named(std::string_view name);

/// Throws ConfigError when a kernel from outside the program uses the name of one in the registry.
void check_new_name(const Declaration& declaration);

/// Returns the content of schema/kernels.json: all declarations.
std::string kernels_json();

}  // namespace rashpa::kernel
