// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The reason why a stack has begun, and the word by which the device tells it.
#include <cstdint>

namespace rashpa::unit::cuda {

/// The reason why a stack has begun.
enum class Begun : std::uint32_t {
  no,
  by_word,  ///< all last words and good records were there
  by_host,  ///< the host has triggered it, with an order of its own
  ended,    ///< the host ends all waiting; nothing is processed
  alone,    ///< the host has given no sign for kAloneNs; nothing is processed
};

/// The word by which the device tells the host how the stack of a ticket has begun.
struct alignas(64) Start {
  std::uint64_t value = 0;
};
constexpr std::uint64_t start_value(std::uint32_t ticket, Begun how) noexcept {
  return std::uint64_t{ticket} << 32U | static_cast<std::uint32_t>(how);
}
/// Returns how the stack of `ticket` has begun.
constexpr Begun begun(std::uint64_t value, std::uint32_t ticket) noexcept {
  return value >> 32U == ticket ? static_cast<Begun>(value & 0xFFU) : Begun::no;
}

}  // namespace rashpa::unit::cuda
