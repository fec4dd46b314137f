// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/dealt/joiner.hpp"

#include <fmt/format.h>

#include <utility>

namespace rashpa::unit {

HostJoiner::HostJoiner(Joins joins, std::uint32_t members, std::string why)
    : joins_(std::move(joins)), why_(std::move(why)), there_(members) {}

bool HostJoiner::join(std::size_t number, std::span<const kernel::AccumulatedArrays> parts,
                      const kernel::AccumulatedArrays& to) noexcept {
  std::size_t count = 0;
  for (const kernel::AccumulatedArrays& one : parts) {
    if (one[0] != nullptr) there_[count++] = one;
  }
  joins_[number]->join(std::span(there_).first(count), to);
  return true;
}

std::string HostJoiner::how() const {
  return why_.empty() ? "sums joined on the host" : fmt::format("sums joined on the host: {}", why_);
}

}  // namespace rashpa::unit
