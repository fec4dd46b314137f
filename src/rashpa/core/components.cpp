// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/components.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"

namespace rashpa {

bool has_component(std::string_view component) noexcept {
  const std::span<const Component> all = components();
  return std::any_of(all.begin(), all.end(), [&](const Component& one) { return one.name == component && one.built; });
}

std::string left_out(std::string_view component) {
  const std::span<const Component> all = components();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Component& one) { return one.name == component; });
  if (found == all.end()) return fmt::format("there is no component {}", component);
  const std::string where = found->needs.empty() ? std::string{} : fmt::format(" on a machine with {}", found->needs);
  return fmt::format("this build leaves out {} ({}); run `make build`{}, or install a wheel that has it", found->name,
                     found->adds, where);
}

void throw_left_out(std::string_view key, std::string_view component, std::string_view instead) {
  throw ConfigError(fmt::format("{}: {}, or {}", key, left_out(component), instead));
}

}  // namespace rashpa
