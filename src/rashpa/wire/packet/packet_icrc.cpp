// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/packet/packet_icrc.hpp"

#include <vector>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::wire {

std::uint32_t packet_icrc(NetworkHeader kind, std::span<const std::byte> network, std::span<const std::byte> udp,
                          std::span<const std::byte> transport) {
  constexpr std::byte kOnes{0xFF};
  std::vector<std::byte> masked(8, kOnes);
  const std::size_t ip = masked.size();
  masked.insert(masked.end(), network.begin(), network.end());
  if (kind == NetworkHeader::ipv4) {
    for (const std::size_t at : {1U, 8U, 10U, 11U}) masked[ip + at] = kOnes;  // TOS, TTL, header checksum
  } else {
    masked[ip] |= std::byte{0x0F};  // traffic class and flow label, hop limit
    for (const std::size_t at : {1U, 2U, 3U, 7U}) masked[ip + at] = kOnes;
  }
  if (!udp.empty()) {
    masked.insert(masked.end(), udp.begin(), udp.end());
    masked[masked.size() - 2] = masked[masked.size() - 1] = kOnes;  // UDP checksum
  }
  const std::size_t bth = masked.size();
  masked.insert(masked.end(), transport.begin(), transport.end());
  masked[bth + 4] = kOnes;  // FECN, BECN, reserved
  return crc32(masked);
}

}  // namespace rashpa::wire
