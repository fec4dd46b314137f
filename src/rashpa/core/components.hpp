// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The optional components of the program, and those that this build contains. cmake/components.cmake has the same
/// list. Any thread.
#include <span>
#include <string>
#include <string_view>

namespace rashpa {

struct Component {
  std::string_view name;
  bool built = false;
  std::string_view adds;   ///< names that the component adds to run files
  std::string_view needs;  ///< requirements for the machine that builds it
};

/// Returns all components in the order of the list.
std::span<const Component> components() noexcept;

/// Returns whether this build has `component`; false for a name that is not on the list.
bool has_component(std::string_view component) noexcept;

/// Returns the message that this build lacks `component`, with the use of the component and the way to get it.
/// `component` is on the list.
std::string left_out(std::string_view component);

/// Throws ConfigError with "<key>: ", the message of left_out(), and `instead`, an alternative such as "use unit cpu".
[[noreturn]] void throw_left_out(std::string_view key, std::string_view component, std::string_view instead);

}  // namespace rashpa
