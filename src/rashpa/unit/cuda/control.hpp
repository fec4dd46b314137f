// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The words that host and device exchange. Those of the host are in pinned memory, at one address for both.
#include <array>
#include <cstddef>
#include <cstdint>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::unit::cuda {

/// The host's order for one stack, copied to the device before the images.
struct Order {
  std::uint32_t ticket = 0;  ///< written to Control::done when all results are out; never 0
  std::uint32_t images = 0;
  std::uint32_t changed = 0;  ///< 1: limits differ from those of the previous stack; for the resident kernel
  std::uint64_t first = 0;    ///< index of the first image, for trigger word
  /// The destinations of quantities of a window that ends with this stack, by accumulation; null: none ends.
  std::array<kernel::AccumulatedArrays, kMostAccumulations> ended{};
  // Then a byte for each image of a full stack: 1, it is to be processed. The device's copy becomes 0 for images that
  // a step does not keep.
  [[nodiscard]] std::uint8_t* work() noexcept { return reinterpret_cast<std::uint8_t*>(this + 1); }
  // Behind that, a full stack has another byte for each image: 1 means that it is to be processed and dark.
  [[nodiscard]] std::uint8_t* dark(std::uint32_t stack) noexcept { return work() + stack; }
};

/// Returns the bytes of an Order; limits follow it (parts/stack_limits.hpp).
constexpr std::size_t order_bytes(std::uint32_t stack) noexcept {
  return (sizeof(Order) + std::size_t{2} * stack + 63) / 64 * 64;
}

/// Returns the pixels from one image of that shape to the next, for steps and delivery that load and store several at
/// once.
inline std::size_t padded(const kernel::Shape& shape) noexcept {
  constexpr std::size_t kTogether = 64;
  return (shape.pixels() + kTogether - 1) / kTogether * kTogether;
}

/// A word on a cache line of its own.
struct alignas(64) Word {
  std::uint32_t value = 0;
};

/// Returns the next ticket. Tickets count submitted stacks from 1 and wrap past 0; comparisons are cyclic.
constexpr std::uint32_t next_ticket(std::uint32_t ticket) noexcept { return ticket + 1 == 0 ? 1 : ticket + 1; }

/// The number of threads of the resident kernel that poll for orders. A slot's order is one word that the host writes
/// at once: the ticket without its highest bit, whether limits have changed, and a mask in which bit i requests image
/// i. Each polling thread has its own copy in a cache line of the device (128 bytes), since reads of one line wait for
/// one another.
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
/// Returns true for the trigger of that ticket, or of the slot's next one, since tickets count on.
constexpr bool has_come(std::uint64_t trigger, std::uint32_t ticket) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(trigger) - (ticket << 1U)) >= 0;
}
constexpr bool is_of(std::uint64_t trigger, std::uint32_t ticket) noexcept {
  return (static_cast<std::uint32_t>(trigger) ^ (ticket << 1U)) <= 1;
}
constexpr bool changes_limits(std::uint64_t trigger) noexcept { return (trigger & 1U) != 0; }

/// The control words of one unit.
struct Control {
  Word trigger;  ///< by the host: stacks up to this ticket may be processed; a stream waits for it
  Word seen;     ///< by the device (persistent): the first effect of a trigger
  Word abort;    ///< by the host: all waiting ends
  Word pulse;    ///< by the host, counted on: a sign of its thread, for trigger word
  Word room;     ///< by the host: stacks up to this ticket have room for results, and may begin by last words
};

}  // namespace rashpa::unit::cuda
