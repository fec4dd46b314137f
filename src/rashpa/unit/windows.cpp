// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/windows.hpp"

#include <algorithm>
#include <utility>

#include "rashpa/core/system/cache_line.hpp"

namespace rashpa::unit {

namespace {

std::size_t bytes_of_quantity(const Accumulation& facts, const Quantity& quantity) noexcept {
  return (facts.elements() * bytes_of(quantity.type) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

std::size_t bytes_of_window(const Accumulation& facts) noexcept {
  std::size_t bytes = 0;
  for (const Quantity& quantity : facts.quantities) bytes += bytes_of_quantity(facts, quantity);
  return bytes;
}

/// Returns the windows that can end before the first of them comes back, and the open one.
std::size_t windows_in_flight(const Accumulation& facts, std::uint32_t stack, std::uint32_t stacks) noexcept {
  if (facts.window == 0) return 1;
  const std::uint64_t in_flight = std::uint64_t{stacks} * stack;
  return static_cast<std::size_t>((in_flight + facts.window - 1) / facts.window + 1);
}

}  // namespace

Windows::Windows(const Accumulation& facts, std::uint32_t stack, std::uint32_t stacks)
    : Windows(facts, stack, stacks, nullptr) {
  own_ = memory::Buffer(windows_ * window_bytes_, memory::MemoryKind::huge);
  results_ = own_.data();
}

Windows::Windows(const Accumulation& facts, std::uint32_t stack, std::uint32_t stacks, std::byte* memory)
    : facts_(facts),
      stack_(stack),
      windows_(windows_in_flight(facts, stack, stacks)),
      window_bytes_(bytes_of_window(facts)),
      results_(memory) {}

std::size_t Windows::bytes_for(const Accumulation& facts, std::uint32_t stack, std::uint32_t stacks) noexcept {
  return windows_in_flight(facts, stack, stacks) * bytes_of_window(facts);
}

void Windows::open(const Stack& stack) noexcept {
  const std::uint64_t first = stack.number * stack_;
  if (!is_open()) {
    open_.window = window_of(stack.number);
    open_.first = open_.window * facts_.window;
  }
  open_.end = first + stack.count;
}

kernel::AccumulatedArrays Windows::arrays_of(std::uint64_t window) const noexcept {
  kernel::AccumulatedArrays to{};
  std::byte* at = results_ + window % windows_ * window_bytes_;
  for (std::size_t q = 0; q < facts_.quantities.size(); ++q) {
    to[q] = at;
    at += bytes_of_quantity(facts_, facts_.quantities[q]);
  }
  return to;
}

AccumulatedView Windows::close() noexcept {
  const kernel::AccumulatedArrays written = arrays();
  AccumulatedView view = std::exchange(open_, {});
  std::copy(written.begin(), written.end(), view.values.begin());
  return view;
}

}  // namespace rashpa::unit
