// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rashpa/unit/limits/step_changes.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// Changes of limits that all members of a unit apply from the same stack on.
class JointChanges {
 public:
  /// Returns one change for all members; `all` has the change of each, with the same limits. Any thread.
  ReadyLimits ready(std::vector<ReadyLimits> all) {
    return [this, all = std::move(all)](std::optional<std::uint64_t> first) {
      const auto give = [&](std::uint64_t number) {
        for (const ReadyLimits& one : all) one(number);
      };
      if (!first) return changes_.put({}, give);
      give(*first);
      return *first;
    };
  }
  /// Waits until all members have the changes that begin with stack `number`. The submitting thread calls it for each
  /// stack, before a member gets it.
  void begin(std::uint64_t number) noexcept {
    if (changes_.begin()) changes_.apply(number, [](Noted&) { return true; });
  }

 private:
  struct Noted {};  // the members have the limits
  StepChanges<Noted> changes_;
};

}  // namespace rashpa::unit
