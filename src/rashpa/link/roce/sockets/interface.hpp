// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/wire/gid.hpp"

namespace rashpa::link::roce {

/// An Ethernet interface of this machine.
struct Interface {
  std::string name;
  int index = 0;
  wire::MacAddress mac{};
  std::uint32_t mtu = 0;
};

/// Returns the interface of this machine with the GID `text`, written with its scope: fe80::8ec:aff:fe01:203%eth0.
/// Otherwise throws ConfigError with the expected form.
[[nodiscard]] Interface interface_of(const std::string& text);

}  // namespace rashpa::link::roce
