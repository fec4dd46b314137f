// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// The completeness of an image, or of one DTP's part of it (docs/explanations/books.md).
enum class Completeness : std::uint8_t {
  open = 0,      ///< not decided yet
  complete = 1,  ///< all bytes are proven to have arrived
  partial = 2,   ///< some lines are known to be missing
  missing = 3,   ///< no event came before the deadline
};

/// The counts of images of a DTP, a buffer, a receiver or a run. They must balance.
struct Books {
  std::uint64_t expected = 0;
  std::uint64_t complete = 0;
  std::uint64_t partial = 0;
  std::uint64_t missing = 0;
  std::uint64_t accepted = 0;
  std::uint64_t vetoed = 0;
  std::uint64_t errored = 0;
  std::uint64_t written = 0;
  friend bool operator==(const Books&, const Books&) = default;

  /// Returns true when expected = complete + partial + missing. A DTP has only this balance, since decisions concern
  /// whole images.
  [[nodiscard]] constexpr bool arrivals_balance() const noexcept { return expected == complete + partial + missing; }
  /// Returns true when all three equations of docs/explanations/books.md balance. The pipeline decides on partial
  /// images, too (veto reason `partial` where the policy refuses them), so the second equation counts them.
  [[nodiscard]] constexpr bool balanced() const noexcept {
    return arrivals_balance() && complete + partial == accepted + vetoed + errored && accepted == written;
  }
  constexpr Books& operator+=(const Books& other) noexcept {
    expected += other.expected;
    complete += other.complete;
    partial += other.partial;
    missing += other.missing;
    accepted += other.accepted;
    vetoed += other.vetoed;
    errored += other.errored;
    written += other.written;
    return *this;
  }
};

}  // namespace rashpa
