// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/unit/dealt/joiner.hpp"
#include "rashpa/unit/unit.hpp"
#include "rashpa/unit/windows.hpp"

namespace rashpa::unit {

/// Members of a DealtUnit, a bit each.
using Members = std::uint64_t;
inline constexpr std::uint32_t kMostMembers = 64;

/// Windows that members add up together. Each adds its own stacks; the stack that ends a window goes to one of them,
/// and its shadow, a stack of the same number without an image, to the others that have had some of the window: it ends
/// the window there behind earlier stacks, so that no member waits for another. When the stack and its shadows are back
/// their parts are one window.
///
/// note() and shadow() are for the thread that submits, the rest for the one that takes; lost() for any.
class JoinedWindows {
 public:
  /// The windows that end with a stack.
  struct Ending {
    std::array<Members, kMostAccumulations> owe{};  ///< members that have the window open; none: it goes on
    Members shadows = 0;                            ///< members that get a shadow
  };

  /// All memory is taken here. Throws ResourceError.
  JoinedWindows(const Results& results, const Layout& layout, std::uint32_t members, std::unique_ptr<Joiner> joiner);

  /// The stack goes to `member`.
  Ending note(std::uint32_t member, const Stack& stack) noexcept;
  /// The stack's shadow for another member; its own until it has given it back.
  Stack* shadow(std::uint32_t member, const Stack& stack) noexcept;

  /// Keeps the parts that a member has given back with the stack, or with its shadow.
  void keep(std::uint32_t member, const Accumulated& parts) noexcept { parts_[member] = parts; }
  /// Makes the windows that end with the stack, in place of its member's, when all members have come so far.
  void join(const Ending& ending, Stack& stack) noexcept;
  /// The windows that are open at the end, from the members' last parts, which keep() has got.
  Accumulated conclude() noexcept;

  /// The missing parts of windows, in words; empty: nothing.
  [[nodiscard]] std::string lost() const;
  /// Returns the outputs of the unit, by accumulation.
  [[nodiscard]] const std::vector<Accumulation>& facts() const noexcept { return facts_; }
  [[nodiscard]] const Joiner& joiner() const noexcept { return *joiner_; }

 private:
  AccumulatedView join_one(std::size_t number, Members owe) noexcept;

  const std::vector<Accumulation> facts_;
  std::vector<Windows> windows_;  // by accumulation
  std::unique_ptr<Joiner> joiner_;
  std::uint32_t members_;
  std::uint32_t stacks_;
  std::vector<Stack> shadows_;                                         // [member][slot]
  std::array<Members, kMostAccumulations> had_{};                      // members that have the window open
  std::vector<Accumulated> parts_;                                     // by member
  std::vector<kernel::AccumulatedArrays> arrays_;                      // by member: of the window that is joined
  std::array<std::atomic<std::uint32_t>, kMostAccumulations> lost_{};  // relaxed: devices' threads count, a join orders
};

}  // namespace rashpa::unit
