// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/card_network.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/sockets/route.hpp"
#include "rashpa/wire/address.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/random_numbers.hpp"

namespace rashpa::emulator {

namespace {

constexpr std::uint16_t kRocePort = 4791;
constexpr std::uint16_t kFirstPort = 0xC000;  // source ports of RoCEv2
constexpr std::uint32_t kPorts = 0x4000;

/// A UDP port of `local` that nobody has now.
std::uint16_t free_port(wire::Address local) {
  const int fd = socket(local.v6() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  socklen_t bytes = sizeof(sockaddr_storage);
  const bool found = fd >= 0 && bind(fd, local.get(), local.bytes()) == 0 && getsockname(fd, local.get(), &bytes) == 0;
  const int reason = errno;
  if (fd >= 0) close(fd);
  if (!found) {
    throw ResourceError(fmt::format(
        "emulator: no UDP port of {} for a simulated card: {}; give the emulator an address of this machine",
        local.text(), errno_text(reason)));
  }
  return local.port();
}

wire::Address local_address(const Config& config, const wire::Address& destination, bool by_sockets) {
  wire::Address local(config.bind_address, 0);
  if (!local.wildcard()) return local;
  if (by_sockets) return link::roce::local_towards(destination);
  throw ConfigError(
      fmt::format("emulator: {} is no address for a card; give the one that it has", config.bind_address));
}

/// Returns the MAC address that the configuration gives for `destination`, however the address was written; empty when
/// it gives none.
std::string neighbour_of(const CardConfig& card, const wire::Address& destination) {
  for (const auto& [ip, mac] : card.neighbours) {
    if (const wire::Address known(ip, 0); known.v6() == destination.v6() && known.ip() == destination.ip()) return mac;
  }
  return {};
}

}  // namespace

std::array<std::uint8_t, 6> mac_of(const std::string& text) {
  std::array<std::uint8_t, 6> mac{};
  bool good = text.size() == 3 * mac.size() - 1;
  for (std::size_t i = 0; good && i < mac.size(); ++i) {
    const char* const at = text.data() + 3 * i;
    const auto [end, code] = std::from_chars(at, at + 2, mac[i], 16);
    good = code == std::errc{} && end == at + 2 && (i + 1 == mac.size() || *end == ':');
  }
  if (!good) {
    throw ConfigError(fmt::format("emulator: '{}' is no MAC address; write it as 02:00:00:00:00:01", text));
  }
  return mac;
}

link::fpga::CardPath card_path(const Config& config, const SourceDtp& source, bool simulated) {
  link::check_one_key("emulator: card", source.destination);
  const wire::Address there(source.destination.address, source.destination.port);
  const bool by_sockets = simulated && config.card->mac.empty() && config.card->neighbours.empty();
  const wire::Address here = local_address(config, there, by_sockets);
  if (here.v6() != there.v6()) {
    throw ConfigError(
        fmt::format("emulator: DTP {}: the card's address {} and the receiver's {} differ in their IP version; give "
                    "both as IPv4, or both as IPv6",
                    source.dtp.id, here.text(), there.text()));
  }
  link::fpga::CardPath path{.source_ip = here.ip(),
                            .destination_ip = there.ip(),
                            .ipv6 = here.v6(),
                            .destination_port = there.port(),
                            .qpn = source.destination.qpn,
                            .rkey = source.destination.rkey,
                            .first_psn = wire::random_psn()};
  if (by_sockets) {
    path.source_port = free_port(here);
    return path;
  }
  path.source_port = static_cast<std::uint16_t>(kFirstPort + wire::random_below(kPorts));
  const std::string mac = neighbour_of(*config.card, there);
  if (config.card->mac.empty() || mac.empty()) {
    throw ConfigError(fmt::format(
        "emulator: DTP {}: a card asks nobody for MAC addresses; give its own (card_mac), and that which packets to {} "
        "go to (neighbours)",
        source.dtp.id, there.text()));
  }
  path.source_mac = mac_of(config.card->mac);
  path.destination_mac = mac_of(mac);
  return path;
}

link::Endpoint card_endpoint(const Config& config, const link::fpga::CardPath& path) {
  wire::Address here(path.ipv6 ? "::" : "0.0.0.0", 0);
  if (path.ipv6) {
    std::copy(path.source_ip.begin(), path.source_ip.end(),
              reinterpret_cast<sockaddr_in6*>(here.get())->sin6_addr.s6_addr);
  } else {
    std::copy_n(path.source_ip.begin(), 4,
                reinterpret_cast<std::uint8_t*>(&reinterpret_cast<sockaddr_in*>(here.get())->sin_addr));
  }
  // An RNIC writes to no other port than RoCE's, a receiver in user space to the one that packets come from.
  const bool rnic = link::kind_of(config.destination_link) == link::Kind::verbs;
  return {.address = here.text(),
          .port = rnic ? kRocePort : path.source_port,
          .qpn = wire::random_qpn(),
          .rkey = wire::random_key(),
          .credit_offset = 0,
          .psn = path.first_psn};
}

}  // namespace rashpa::emulator
