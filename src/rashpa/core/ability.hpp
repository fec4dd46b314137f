// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rashpa {

/// An ability of only some implementations of a contract is a small base of its own. This asks an object for it; null:
/// it cannot. Asked once, when its user is set up: the answer does not change, and looking takes longer than a call.
template <typename Ability, typename Contract>
[[nodiscard]] Ability* able(Contract& one) noexcept {
  return dynamic_cast<Ability*>(&one);
}

}  // namespace rashpa
