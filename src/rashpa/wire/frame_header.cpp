// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/frame_header.hpp"

#include <cstring>

#include "rashpa/wire/gid.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::wire {

FrameHeader::FrameHeader(const Address& source, const Address& destination, Ecn ecn) noexcept {
  const Gid from = source.ip();
  const Gid to = destination.ip();
  const MacAddress from_mac = mac_of(from).value_or(MacAddress{});
  const MacAddress to_mac = mac_of(to).value_or(MacAddress{});
  std::byte* const at = bytes_.data();
  std::memcpy(at, to_mac.data(), to_mac.size());
  std::memcpy(at + 6, from_mac.data(), from_mac.size());
  store_be<std::uint16_t>(at + 12, kRoce1Ethertype);
  std::byte* const grh = at + kEthernet;
  store_be<std::uint32_t>(grh, 6U << 28 | static_cast<std::uint32_t>(ecn) << 20);
  grh[6] = std::byte{kIbaNextHeader};
  grh[7] = std::byte{64};  // hop limit
  std::memcpy(grh + 8, from.data(), from.size());
  std::memcpy(grh + 24, to.data(), to.size());
}

void FrameHeader::write(std::byte* at, std::size_t transport) const noexcept {
  std::memcpy(at, bytes_.data(), kBytes);
  store_be(at + kEthernet + 4, static_cast<std::uint16_t>(transport));
}

}  // namespace rashpa::wire
