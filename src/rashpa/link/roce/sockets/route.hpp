// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "rashpa/wire/address.hpp"

namespace rashpa::link::roce {

/// Returns the local address from which packets to `destination` leave. Throws ResourceError when there is no route.
wire::Address local_towards(const wire::Address& destination);

/// Returns the largest IP packet, in bytes, that reaches `destination` unfragmented. Throws ResourceError when there is
/// no route.
std::uint32_t path_mtu(const wire::Address& destination);

}  // namespace rashpa::link::roce
