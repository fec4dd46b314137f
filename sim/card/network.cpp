// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "udp_port.hpp"
#include "unix_port.hpp"

namespace rashpa::sim {

std::unique_ptr<Network> make_network(const std::string& text) {
  constexpr const char* kUnix = "unix:";
  if (text == "udp") return std::make_unique<UdpPort>();
  const std::size_t comma = text.find(',');
  if (text.starts_with(kUnix) && comma != std::string::npos) {
    const std::size_t begin = std::string(kUnix).size();
    return std::make_unique<UnixPort>(text.substr(begin, comma - begin), text.substr(comma + 1));
  }
  throw ConfigError(fmt::format("card: there is no network '{}'; give udp, or unix:HERE,THERE with two paths", text));
}

}  // namespace rashpa::sim
