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

/// A set of members of a DealtUnit, one bit each.
using Members = std::uint64_t;
inline constexpr std::uint32_t kMostMembers = 64;

/// Windows that members accumulate together, each over its own stacks. The stack that ends a window goes to one member.
/// The other members with images of the window get its shadow, a stack of the same number without images. The shadow
/// ends the window there after earlier stacks, so that no member waits for another. When the stack and its shadows have
/// returned, their parts become one window.
/// The submitting thread calls note() and shadow(), the taking thread the rest; any thread may call lost().
class JoinedWindows {
 public:
  /// The windows that end with a stack.
  struct Ending {
    /// members with an open part of the window; none: the window continues
    std::array<Members, kMostAccumulations> owe{};
    Members shadows = 0;  ///< members that get a shadow
  };

  /// Takes all memory. Throws ResourceError.
  JoinedWindows(const Results& results, const Layout& layout, std::uint32_t members, std::unique_ptr<Joiner> joiner);

  /// Records that the stack goes to `member`; returns the windows that end with it.
  Ending note(std::uint32_t member, const Stack& stack) noexcept;
  /// Returns the stack's shadow for another member, which owns it until it returns it.
  Stack* shadow(std::uint32_t member, const Stack& stack) noexcept;

  /// Keeps the parts that a member has returned with the stack, or with its shadow.
  void keep(std::uint32_t member, const Accumulated& parts) noexcept { parts_[member] = parts; }
  /// Makes the windows that end with the stack, in place of its member's, when all members have reached that point.
  void join(const Ending& ending, Stack& stack) noexcept;
  /// Returns the windows that are open at the end, from the members' last parts in keep().
  Accumulated conclude() noexcept;

  /// Returns a text about missing parts of windows; empty: none is missing.
  [[nodiscard]] std::string lost() const;
  /// Returns the accumulations of the unit.
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
