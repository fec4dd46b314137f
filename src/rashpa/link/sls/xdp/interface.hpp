// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/wire/address.hpp"

namespace rashpa::link::sls::xdp {

/// A network interface of this machine.
struct Interface {
  std::string name;
  int index = 0;
  std::uint32_t queues = 1;   ///< receive queues
  std::uint32_t address = 0;  ///< IPv4 address in network order
};

/// Returns the interface with an IPv4 address. Throws ConfigError when no interface has it, or it is none.
Interface interface_with(const wire::Address& address);

}  // namespace rashpa::link::sls::xdp
