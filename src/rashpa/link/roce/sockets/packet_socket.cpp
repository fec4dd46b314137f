// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sockets/packet_socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/wire/frame_header.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::link::roce {

namespace {

/// A classic BPF program that falls through from test to test; a packet that fails one is not taken.
class Filter {
 public:
  static constexpr std::uint8_t kDrop = 0xFF;  // jumps that are not known yet: to the end,
  static constexpr std::uint8_t kPass = 0xFE;  // and to the next pass_here()

  void load(std::uint16_t size, std::uint32_t at) { add(BPF_LD | BPF_ABS | size, at); }
  void load_auxiliary(int what) { load(BPF_W, static_cast<std::uint32_t>(SKF_AD_OFF + what)); }
  void equal(std::uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, kDrop); }
  void pass_here() {
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (code_[i].jt == kPass) code_[i].jt = static_cast<std::uint8_t>(code_.size() - i - 1);
    }
  }
  void below(std::uint32_t end) { add(BPF_JMP | BPF_JGE | BPF_K, end, kDrop, 0); }
  void no_bit_of(std::uint32_t mask) { add(BPF_JMP | BPF_JSET | BPF_K, mask, kDrop, 0); }
  void calculate(std::uint16_t operation, std::uint32_t value) { add(BPF_ALU | operation | BPF_K, value); }
  void add(unsigned code, std::uint32_t value, std::uint8_t yes = 0, std::uint8_t no = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), yes, no, value});
  }
  /// A packet that passes is taken whole.
  [[nodiscard]] std::vector<sock_filter> finish() {
    add(BPF_RET | BPF_K, ~0U);
    const std::size_t drop = code_.size();
    add(BPF_RET | BPF_K, 0);
    for (std::size_t i = 0; i < drop; ++i) {
      const auto distance = static_cast<std::uint8_t>(drop - i - 1);
      if (code_[i].jt == kDrop) code_[i].jt = distance;
      if (code_[i].jf == kDrop) code_[i].jf = distance;
    }
    return std::move(code_);
  }

 private:
  std::vector<sock_filter> code_;
};

std::uint32_t word(const std::uint8_t* bytes) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return ntohl(value);
}

// Frames for other stations, which an interface in promiscuous mode shows, are not ours.
void to_this_station(Filter& filter) {
  filter.load_auxiliary(SKF_AD_PKTTYPE);
  filter.equal(PACKET_HOST);
}

[[noreturn]] void refuse(const char* what, int code) {
  if (code == EPERM || code == EACCES) {
    throw ResourceError(
        "roce: frames can only be read from a network interface with CAP_NET_RAW (run as root, or setcap "
        "cap_net_raw+ep "
        "on the program); without it choose icrc = modulo_id, or IPv6 addresses, where that check is exact, and "
        "framing "
        "v2");
  }
  throw ResourceError(
      fmt::format("roce: packet socket: {}: {}; use a kernel with CONFIG_PACKET, or check the limit of "
                  "open files",
                  what, errno_text(code)));
}

// The filter is there before the first frame can come: the socket is made for no protocol and bound at the end.
int open_socket(std::vector<sock_filter> code) {
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) refuse("socket", errno);
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  const int on = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0 ||
      setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) != 0) {
    const int error = errno;
    ::close(fd);
    refuse("its options", error);
  }
  return fd;
}

void bind_socket(int fd, std::uint16_t protocol, int interface) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = interface;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) refuse("bind", errno);
}

struct OwnAddress {
  std::array<std::uint8_t, 4> ip{};
  std::uint32_t interface = 0;
};

// Those of the interfaces of this machine that are up; of a namespace, its own.
std::vector<OwnAddress> own_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0)
    throw ResourceError(fmt::format(
        "roce: the interfaces of this machine cannot be read: {}; check the limits of memory and open files",
        errno_text(errno)));
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::vector<OwnAddress> found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::string name = one->ifa_name;
    if (const auto label = name.find(':'); label != std::string::npos) name.resize(label);  // an alias, eth0:1
    OwnAddress& address = found.emplace_back();
    address.interface = if_nametoindex(name.c_str());
    std::memcpy(address.ip.data(), &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, address.ip.size());
  }
  return found;
}

// The addresses of `local`: one, or all that the machine has now.
std::vector<OwnAddress> meant_by(const wire::Address& local) {
  constexpr std::uint8_t kLoopbackNet = 127;
  constexpr std::size_t kMost = 40;  // jumps of a filter reach 255 places far, and each address takes five
  std::vector<OwnAddress> all = own_addresses();
  if (local.wildcard()) {
    if (all.size() <= kMost) return all;
    throw ConfigError(fmt::format(
        "roce: icrc = full on {}: this machine has {} IPv4 addresses, and a filter has room for {}; give the address "
        "that receives, or choose icrc = modulo_id",
        local.text(), all.size(), kMost));
  }
  const auto ip = local.ip();
  OwnAddress one;
  std::copy_n(ip.begin(), one.ip.size(), one.ip.begin());
  const auto known = std::find_if(all.begin(), all.end(), [&](const OwnAddress& each) { return each.ip == one.ip; });
  if (known != all.end()) return {*known};
  if (ip[0] != kLoopbackNet) {
    throw ResourceError(fmt::format(
        "roce: no interface has the address {}; choose an address of this machine (ip addr)", local.text()));
  }
  one.interface = if_nametoindex("lo");
  return {one};
}

}  // namespace

PacketSocket::~PacketSocket() {
  if (fd_ >= 0) ::close(fd_);
}

PacketSocket PacketSocket::udp4(const wire::Address& local) {
  const std::uint32_t loopback = if_nametoindex("lo");
  constexpr std::uint32_t kIp = ETH_HLEN;
  Filter filter;
  to_this_station(filter);
  filter.load(BPF_B, kIp + 9);
  filter.equal(IPPROTO_UDP);
  filter.load(BPF_W, kIp + 16);
  for (const OwnAddress& address : meant_by(local)) {
    filter.add(BPF_JMP | BPF_JEQ | BPF_K, word(address.ip.data()), 0, 4);  // else the next one
    filter.load_auxiliary(SKF_AD_IFINDEX);
    filter.add(BPF_JMP | BPF_JEQ | BPF_K, address.interface, Filter::kPass, 0);
    filter.add(BPF_JMP | BPF_JEQ | BPF_K, loopback, Filter::kPass, 0);
    filter.add(BPF_RET | BPF_K, 0);
  }
  filter.add(BPF_RET | BPF_K, 0);
  filter.pass_here();
  filter.load(BPF_H, kIp + 6);
  filter.no_bit_of(0x1FFF);
  filter.add(BPF_LDX | BPF_B | BPF_MSH, kIp);
  filter.add(BPF_LD | BPF_H | BPF_IND, kIp + 2);
  filter.equal(local.port());
  PacketSocket made(open_socket(filter.finish()));
  const int on = 1;
  if (setsockopt(made.fd_, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) != 0) refuse("PACKET_VNET_HDR", errno);
  // Not bound to an interface: packets of this machine to its own address come by lo.
  bind_socket(made.fd_, ETH_P_IP, 0);
  return made;
}

PacketSocket PacketSocket::roce1(const Interface& interface, const wire::Gid& gid, const QpnShare& share) {
  constexpr std::uint32_t kDestinationGid = wire::FrameHeader::kEthernet + 24;
  constexpr std::uint32_t kQpn = wire::FrameHeader::kBytes + 4;
  Filter filter;
  to_this_station(filter);
  for (std::uint32_t i = 0; i < gid.size(); i += 4) {
    filter.load(BPF_W, kDestinationGid + i);
    filter.equal(word(&gid[i]));
  }
  filter.load(BPF_W, kQpn);
  filter.calculate(BPF_AND, wire::kPsnMask);
  filter.calculate(BPF_SUB, share.first);
  filter.below(share.count);
  if (share.stride > 1) {
    filter.calculate(BPF_MOD, share.stride);
    filter.equal(share.phase);
  }
  PacketSocket made(open_socket(filter.finish()));
  bind_socket(made.fd_, wire::kRoce1Ethertype, interface.index);
  return made;
}

}  // namespace rashpa::link::roce
