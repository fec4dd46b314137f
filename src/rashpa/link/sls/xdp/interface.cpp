// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/xdp/interface.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/file_descriptor.hpp"

namespace rashpa::link::sls::xdp {

namespace {

// One where the driver does not tell.
std::uint32_t queues_of(const std::string& name) {
  const FileDescriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), sizeof request.ifr_name - 1));
  request.ifr_data = reinterpret_cast<char*>(&channels);       // NOLINT: the kernel's union
  if (ioctl(any.get(), SIOCETHTOOL, &request) != 0) return 1;  // NOLINT: variadic by its nature
  return std::max(1U, channels.combined_count + channels.rx_count);
}

}  // namespace

Interface interface_with(const wire::Address& address) {
  if (address.v6() || address.wildcard()) {
    throw ConfigError(
        fmt::format("link.sls.engine: xdp reads one interface by its IPv4 address, not {}; give that address to the "
                    "receiver, or use \"socket\"",
                    address.text()));
  }
  Interface found;
  found.address = reinterpret_cast<const sockaddr_in*>(address.get())->sin_addr.s_addr;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw ResourceError("link.sls.engine: xdp: the interfaces cannot be listed; try again");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if (reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr != found.address) continue;
    found.name = one->ifa_name;
    found.name = found.name.substr(0, found.name.find(':'));  // without the label of an alias
    found.index = static_cast<int>(if_nametoindex(found.name.c_str()));
    found.queues = queues_of(found.name);
    return found;
  }
  throw ConfigError(
      fmt::format("link.sls.engine: xdp: no interface here has {}; give the receiver an address of its "
                  "own machine, or use \"socket\"",
                  address.text()));
}

}  // namespace rashpa::link::sls::xdp
