// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rashpa {

/// Returns `one` as an `Ability`, or null when it lacks that ability. An ability is a small base class that only some
/// implementations of a contract have. Ask once, at set-up: the answer never changes, and the cast takes longer than a
/// call.
template <typename Ability, typename Contract>
[[nodiscard]] Ability* able(Contract& one) noexcept {
  return dynamic_cast<Ability*>(&one);
}

}  // namespace rashpa
