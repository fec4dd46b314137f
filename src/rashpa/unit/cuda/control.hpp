// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The words that host and device exchange. Host: pinned memory that both see at one address.
#include <array>
#include <cstddef>
#include <cstdint>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::unit::cuda {

/// The host's order for one stack; copied to the device in front of the images.
struct Order {
  std::uint32_t ticket = 0;  ///< goes into Control::done when all is out; never 0
  std::uint32_t images = 0;
  std::uint32_t changed = 0;  ///< 1: limits are others than those of the stack before; for the resident kernel
  /// The places for the quantities of the window that ends with this stack, by accumulation; null: none ends.
  std::array<kernel::AccumulatedArrays, kMostAccumulations> ended{};
  // Then a byte for each image of a full stack: 1, it is to be processed. The device's copy becomes 0 for images that
  // a step does not keep.
  [[nodiscard]] std::uint8_t* work() noexcept { return reinterpret_cast<std::uint8_t*>(this + 1); }
  // Behind that, a full stack has another byte for each image: 1 means that it is to be processed and dark.
  [[nodiscard]] std::uint8_t* dark(std::uint32_t stack) noexcept { return work() + stack; }
};

/// Bytes of an Order; limits are behind it (parts/stack_limits.hpp).
constexpr std::size_t order_bytes(std::uint32_t stack) noexcept {
  return (sizeof(Order) + std::size_t{2} * stack + 63) / 64 * 64;
}

/// Pixels from one image of that shape to the next, where steps and delivery load and store many at once.
inline std::size_t padded(const kernel::Shape& shape) noexcept {
  constexpr std::size_t kTogether = 64;
  return (shape.pixels() + kTogether - 1) / kTogether * kTogether;
}

/// Words on cache lines of their own.
struct alignas(64) Word {
  std::uint32_t value = 0;
};

/// Tickets count submitted stacks from 1 and wrap past 0; comparisons are cyclic.
constexpr std::uint32_t next_ticket(std::uint32_t ticket) noexcept { return ticket + 1 == 0 ? 1 : ticket + 1; }

/// The order of one slot, for the resident kernel, which needs nothing else to begin. The host writes all of it at
/// once: the ticket but for its highest bit, whether limits have changed, and a mask in which bit i asks for image i.
/// Each thread that watches has a copy in a cache line of the device (128 bytes) of its own, since questions for one
/// line wait for one another.
inline constexpr std::uint32_t kWatchers = 8;
struct SlotTrigger {
  struct alignas(256) Copy {
    std::uint64_t value = 0;
  };
  Copy copies[kWatchers];
};
constexpr std::uint64_t slot_trigger(std::uint32_t ticket, std::uint32_t work, bool changed) noexcept {
  return std::uint64_t{work} << 32U | (ticket << 1U) | (changed ? 1U : 0U);
}
/// Returns true for the trigger of that ticket, and of a slot's next one, too, where tickets count on.
constexpr bool has_come(std::uint64_t trigger, std::uint32_t ticket) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(trigger) - (ticket << 1U)) >= 0;
}
constexpr bool is_of(std::uint64_t trigger, std::uint32_t ticket) noexcept {
  return (static_cast<std::uint32_t>(trigger) ^ (ticket << 1U)) <= 1;
}
constexpr bool changes_limits(std::uint64_t trigger) noexcept { return (trigger & 1U) != 0; }

/// The control words of one unit.
struct Control {
  Word trigger;  ///< host: stacks up to this ticket may be processed; a stream waits for it
  Word seen;     ///< device (persistent): the first effect of a trigger
  Word abort;    ///< host: everything that waits ends
};

}  // namespace rashpa::unit::cuda
