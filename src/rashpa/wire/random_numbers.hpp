// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Numbers of a connection that nobody shall guess, from the system's source of random numbers. Of any thread.
#include <cstdint>

namespace rashpa::wire {

/// 0 … end - 1.
std::uint32_t random_below(std::uint32_t end);
/// The first packet sequence number of a connection, 24 bits.
std::uint32_t random_psn();
/// A queue pair that is none of the reserved ones; with room behind it for as many as anybody has.
std::uint32_t random_qpn();
/// The key of a memory region.
std::uint32_t random_key();

}  // namespace rashpa::wire
