// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Parts of the program that a build may leave out: which there are, and which this build has. The list is that of
/// cmake/components.cmake. Any thread.
#include <span>
#include <string>
#include <string_view>

namespace rashpa {

struct Component {
  std::string_view name;
  bool built = false;
  std::string_view adds;   ///< names of run files that it brings
  std::string_view needs;  ///< of the machine that builds it
};

/// Lists all of them, in the list's order.
std::span<const Component> components() noexcept;

/// Returns whether this build has `component`; false for a name that is not on the list.
bool has_component(std::string_view component) noexcept;

/// Returns the text that this build leaves `component` out, with its use and the way to get it. `component` is one of
/// the list.
std::string left_out(std::string_view component);

/// Throws ConfigError "<key>: ", that text, and `instead`: a way without the component, as "use unit cpu".
[[noreturn]] void throw_left_out(std::string_view key, std::string_view component, std::string_view instead);

}  // namespace rashpa
