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

/// Room for copies of windows of accumulations, so that they outlive the stacks that they end with, and come to a sink
/// that did not get the stack. All memory is taken at construction. One thread takes copies, one gives them back.
class WindowCopies {
 public:
  /// Takes memory for the windows that end with `stacks` stacks, and for those of one keep().
  WindowCopies(const std::vector<Accumulation>& accumulations, std::uint32_t stacks);

  /// A stack without images that carries the windows that end with `stack`. Null when no room is free.
  [[nodiscard]] const Stack* take(const Stack& stack) noexcept;
  /// A copy of windows that no stack carries; there is room for those of one call.
  [[nodiscard]] Accumulated keep(const Accumulated& open) noexcept { return copy(open, carriers_.size()); }
  /// Returns true when take() has made it.
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

/// Returns true when windows end with it.
[[nodiscard]] bool carries_windows(const Stack& stack) noexcept;

}  // namespace rashpa::receiver
