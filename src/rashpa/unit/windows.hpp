// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::unit {

/// The windows of one accumulation: the open one, and memory for the results of all that can end before the first one
/// returns with its stack. One thread at a time.
class Windows {
 public:
  /// Takes memory for stacks of `stack` images, `stacks` of them in flight. Throws ResourceError.
  Windows(const Accumulation& facts, std::uint32_t stack, std::uint32_t stacks);
  /// Uses given memory of bytes_for() bytes. It may be device memory, since only addresses are computed.
  Windows(const Accumulation& facts, std::uint32_t stack, std::uint32_t stacks, std::byte* memory);
  static std::size_t bytes_for(const Accumulation& facts, std::uint32_t stack, std::uint32_t stacks) noexcept;
  /// Opens the window of the stack's images, if it is not open.
  void open(const Stack& stack) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return open_.ended(); }
  /// Returns true when a window ends with the stack of that number.
  [[nodiscard]] bool ends_with(std::uint64_t number) const noexcept {
    return facts_.window != 0 && (number + 1) * stack_ % facts_.window == 0;
  }
  /// Returns the number of the window of a stack.
  [[nodiscard]] std::uint64_t window_of(std::uint64_t number) const noexcept {
    return facts_.window == 0 ? 0 : number * stack_ / facts_.window;
  }
  /// Counts `images` images that were accumulated in the open window.
  void add(std::uint64_t images) noexcept { open_.images += images; }
  /// Returns the destinations of the open window's quantities.
  [[nodiscard]] kernel::AccumulatedArrays arrays() const noexcept { return arrays_of(open_.window); }
  /// Returns the arrays of any window. Any thread.
  [[nodiscard]] kernel::AccumulatedArrays arrays_of(std::uint64_t window) const noexcept;
  /// Returns all memory for results.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return {results_, windows_ * window_bytes_}; }
  /// Ends the open window, whose quantities are written, and returns it.
  AccumulatedView close() noexcept;

 private:
  Accumulation facts_;
  std::uint32_t stack_;
  std::size_t windows_;  // in results_
  std::size_t window_bytes_;
  memory::Buffer own_;
  std::byte* results_;
  AccumulatedView open_{};  // values: not set; ended(): images of it have come
};

}  // namespace rashpa::unit
