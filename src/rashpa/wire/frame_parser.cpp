// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/frame_parser.hpp"

#include <cstring>

#include "rashpa/wire/frame_header.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::wire {

namespace {

constexpr std::size_t kVnet = sizeof(VirtualHeader);
static_assert(kVnet == 10);
constexpr std::size_t kEthernet = FrameHeader::kEthernet;
constexpr std::size_t kIpv4 = 20;
constexpr std::size_t kUdp = 8;
constexpr std::size_t kLeast = kBth + kIcrc;

Address address4(const std::byte* ip, const std::byte* port) noexcept {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_in&>(storage);
  address.sin_family = AF_INET;
  std::memcpy(&address.sin_addr, ip, sizeof address.sin_addr);
  std::memcpy(&address.sin_port, port, sizeof address.sin_port);
  return Address(storage);
}

Address address_of_gid(const std::byte* gid) noexcept {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_in6&>(storage);
  address.sin6_family = AF_INET6;
  std::memcpy(&address.sin6_addr, gid, sizeof address.sin6_addr);
  return Address(storage);
}

// Of the packets in a frame; empty when the virtual header makes no sense here. 0: there is one.
std::optional<std::size_t> segment_of(const VirtualHeader& header) noexcept {
  switch (header.type & ~unsigned{VirtualHeader::ecn}) {
    case VirtualHeader::plain:
      return 0;
    case VirtualHeader::udp_l4:
      if (header.segment < kLeast) return std::nullopt;
      return header.segment;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool parse_udp4_frame(std::span<std::byte> bytes, Frame& into) noexcept {
  if (bytes.size() < kVnet + kEthernet + kIpv4 + kUdp + kLeast) return false;
  VirtualHeader virtual_header{};
  std::memcpy(&virtual_header, bytes.data(), kVnet);
  const auto segment = segment_of(virtual_header);
  if (!segment) return false;
  const std::span<std::byte> packet = bytes.subspan(kVnet + kEthernet);
  const std::byte* const ip = packet.data();
  if (load_be<std::uint16_t>(ip - 2) != 0x0800) return false;
  constexpr std::byte kVersionAndHeader{0x45};  // no options
  constexpr std::uint16_t kDontFragment = 0x4000;
  if (ip[0] != kVersionAndHeader || ip[9] != std::byte{17}) return false;
  if (load_be<std::uint16_t>(ip + 6) != kDontFragment) return false;
  const std::size_t total = load_be<std::uint16_t>(ip + 2);
  if (total < kIpv4 + kUdp + kLeast || total > packet.size()) return false;
  const std::byte* const udp = ip + kIpv4;
  if (load_be<std::uint16_t>(udp + 4) != total - kIpv4) return false;
  into.transport = packet.subspan(kIpv4 + kUdp, total - kIpv4 - kUdp);
  into.segment = *segment;
  into.identification = load_be<std::uint16_t>(ip + 4);
  into.congestion = (static_cast<std::uint8_t>(ip[1]) & kEcnMask) == kEcnCongestion;
  into.source = address4(ip + 12, udp);
  into.destination = address4(ip + 16, udp + 2);
  return true;
}

bool parse_roce1_frame(std::span<std::byte> bytes, Frame& into) noexcept {
  if (bytes.size() < FrameHeader::kBytes + kLeast) return false;
  const std::byte* const grh = bytes.data() + kEthernet;
  if (load_be<std::uint16_t>(grh - 2) != kRoce1Ethertype) return false;
  const auto first = load_be<std::uint32_t>(grh);
  if (first >> 28 != 6 || grh[6] != std::byte{kIbaNextHeader}) return false;
  const std::size_t length = load_be<std::uint16_t>(grh + 4);
  if (length < kLeast || length % 4 != 0 || length > bytes.size() - FrameHeader::kBytes) return false;
  into.transport = bytes.subspan(FrameHeader::kBytes, length);
  into.segment = 0;
  into.identification.reset();
  into.congestion = (first >> 20 & kEcnMask) == kEcnCongestion;
  into.source = address_of_gid(grh + 8);
  into.destination = address_of_gid(grh + 24);
  return true;
}

}  // namespace rashpa::wire
