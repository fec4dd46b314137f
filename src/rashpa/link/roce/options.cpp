// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/options.hpp"

#include <numeric>

#include "rashpa/core/error.hpp"
#include "rashpa/core/parameter.hpp"
#include "rashpa/core/system/cache_line.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::link::roce {

const Parameters<Options>& parameters() {
  static const auto declared =
      Parameters<Options>("link roce")
          .add({.name = "transport",
                .doc = "uc: losses stand in the books. rc: the link repairs them. ud: datagrams, both ends roce",
                .choices = {"uc", "rc", "ud"}},
               &Options::transport)
          .add({.name = "pmtu",
                .doc = "payload bytes of a packet at most; both ends the same",
                .allowed = {256, 512, 1024, 2048, 4096}},
               &Options::pmtu)
          .add(
              {.name = "packetisation",
               .doc = "only: a message is one packet; first_middle_last: lines that follow one another are one message",
               .choices = {"only", "first_middle_last"}},
              &Options::packetisation)
          .add({.name = "gso", .doc = "send many packets by one system call, which the kernel cuts"}, &Options::gso)
          .add({.name = "gro", .doc = "take packets that the kernel has merged"}, &Options::gro)
          .add({.name = "icrc",
                .doc = "check on receive, always sent. full: on IPv4 reads frames and needs CAP_NET_RAW. modulo_id: "
                       "exact on IPv6. off: a lost line corrupts the whole image",
                .choices = {"full", "modulo_id", "off"}},
               &Options::icrc)
          .add({.name = "framing",
                .doc = "v1 is ethertype 0x8915 on one Ethernet, needs CAP_NET_RAW and addresses like "
                       "fe80::8ec:aff:fe01:203%eth0",
                .choices = {"v2", "v1"}},
               &Options::framing)
          .add({.name = "window_bytes",
                .doc = "most bytes in flight per DTP before news is needed, less when many DTPs share a socket; 0: no "
                       "window",
                .least = 0,
                .most = 1099511627776},
               &Options::window_bytes)
          .add({.name = "socket_buffer",
                .doc = "bytes asked of the kernel for each socket",
                .least = 4096,
                .most = 2147483648},
               &Options::socket_buffer)
          .add({.name = "unit_bytes",
                .doc = "receiver: packets start and end on multiples of it, counted in a DTP's lines; 0: as our sender "
                       "sends, down to 64 for others",
                .least = 0,
                .most = 1048576},
               &Options::unit_bytes)
          .add({.name = "records",
                .doc = "receiver: events bring frame records; false: a foreign source whose packets are all that "
                       "comes, images are proven by their lines"},
               &Options::records);
  return declared;
}

void check(const Options& options) {
  check_pmtu("roce", options.pmtu);
  if (options.transport == Transport::ud && options.packetisation != Packetisation::only) {
    throw ConfigError("roce: a UD message is one packet; use packetisation only with transport ud");
  }
  if (!options.records && options.icrc == IcrcMode::off) {
    throw ConfigError(
        "roce: without frame records the packets are all that proves an image; use icrc modulo_id or full, not off");
  }
}

std::uint32_t packet_payload(const Options& options) noexcept {
  constexpr std::uint32_t kAligned = 64;
  static_assert(wire::LineHeader::kBytes < kAligned, "what is rounded away must hold the line header");
  return options.transport == Transport::ud ? options.pmtu - kAligned : options.pmtu;
}

std::uint32_t line_map_unit(const Placement& placement, const Options& options) noexcept {
  const bool merged = options.packetisation == Packetisation::first_middle_last && placement.contiguous();
  const std::uint32_t payload = packet_payload(options);
  if (!merged && placement.line_bytes <= payload) return placement.line_bytes;
  return std::gcd(placement.line_bytes, payload);
}

MapUnit map_unit(const Placement& placement, const Options& options) noexcept {
  // The check of the placement comes later; until then a wrong value must only not divide by zero.
  if (placement.line_bytes == 0) return 1;
  if (options.unit_bytes != 0) return options.unit_bytes;
  constexpr std::uint32_t kWorthAMap = 4;  // below, the map would need more than a hundredth of the image's memory
  const std::uint32_t own = line_map_unit(placement, options);
  const std::uint32_t finest = std::gcd(own, std::uint32_t{kCacheLine});
  return {own, finest < kWorthAMap ? own : finest};
}

}  // namespace rashpa::link::roce
