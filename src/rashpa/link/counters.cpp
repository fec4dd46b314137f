// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/counters.hpp"

#include <algorithm>

namespace rashpa::link {

void Counts::add(std::string_view name, std::uint64_t value) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Named& one) { return one.first == name; });
  if (found == all_.end()) {
    all_.emplace_back(name, value);
  } else {
    found->second += value;
  }
}

std::uint64_t Counts::operator[](std::string_view name) const noexcept {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Named& one) { return one.first == name; });
  return found == all_.end() ? 0 : found->second;
}

}  // namespace rashpa::link
