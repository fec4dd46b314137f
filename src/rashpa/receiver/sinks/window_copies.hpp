// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/memory/ring.hpp"

namespace rashpa::receiver {

/// Memory for copies of accumulation windows. The copies outlive the stacks with which the windows end, and reach a
/// sink that missed the stack. The constructor takes all memory. One thread takes copies, another returns them.
class WindowCopies {
 public:
  /// Takes memory for the windows that end with `stacks` stacks, and for those of one keep().
  WindowCopies(const std::vector<Accumulation>& accumulations, std::uint32_t stacks);

  /// Returns a stack without images that has the windows which end with `stack`; null when no room is free.
  [[nodiscard]] const Stack* take(const Stack& stack) noexcept;
  /// Copies windows that belong to no stack; there is room for those of one call.
  [[nodiscard]] Accumulated keep(const Accumulated& open) noexcept { return copy(open, carriers_.size()); }
  /// Returns true for a stack made by take().
  [[nodiscard]] bool made(const Stack& stack) const noexcept {
    return !carriers_.empty() && &stack >= carriers_.data() && &stack <= &carriers_.back();
  }
  void give_back(const Stack& carrier) noexcept;

 private:
  [[nodiscard]] Accumulated copy(const Accumulated& from, std::size_t place) noexcept;

  std::vector<Accumulation> accumulations_;
  std::array<std::vector<std::byte>, kMostAccumulations> values_;
  std::vector<Stack> carriers_;  // `slot`: its place
  memory::Ring<std::uint32_t> free_;
};

/// Returns true when windows end with the stack.
[[nodiscard]] bool carries_windows(const Stack& stack) noexcept;

}  // namespace rashpa::receiver
