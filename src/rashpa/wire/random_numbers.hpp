// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Unguessable numbers of connections, from the system's random source. Any thread.
#include <cstdint>

namespace rashpa::wire {

/// Returns a number in 0 … end − 1.
std::uint32_t random_below(std::uint32_t end);
/// Returns a first packet sequence number, 24 bits.
std::uint32_t random_psn();
/// Returns a queue pair number that is not reserved, with room after it for the queue pairs of any node.
std::uint32_t random_qpn();
/// Returns the key of a memory region.
std::uint32_t random_key();

}  // namespace rashpa::wire
