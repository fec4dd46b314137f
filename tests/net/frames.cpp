// SPDX-License-Identifier: Apache-2.0
#include "frames.hpp"

#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/wire/gid.hpp"

namespace rashpa::net {

namespace {

namespace roce = link::roce;

wire::MacAddress mac_of(const Host& host) { return *wire::mac_of(wire::gid_address(host.gid()).ip()); }

template <std::size_t N>
std::array<std::uint8_t, N> first_of(const std::array<std::uint8_t, 16>& bytes) {
  std::array<std::uint8_t, N> some{};
  std::copy_n(bytes.begin(), N, some.begin());
  return some;
}

}  // namespace

FrameSender::FrameSender(const Host& host) {
  host.within([&] {
    fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex(host.interface().c_str()));
    if (fd_ < 0 || bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("network: no packet socket for frames");
    }
  });
}

FrameSender::~FrameSender() {
  if (fd_ >= 0) close(fd_);
}

void FrameSender::send(std::span<const std::byte> frame) const {
  ASSERT_EQ(::send(fd_, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
}

Target::Target(const Cable& cable, const roce::Options& options, const std::string& address,
               const std::function<link::Endpoint(const link::Endpoint&)>& make_source)
    : framing_(options.framing), source_mac_(mac_of(cable.one)), destination_mac_(mac_of(cable.two)) {
  roce::ReceiverConfig config;
  config.bind_address = address;
  config.options = options;
  config.flow = link::Flow::paced;
  cable.two.within(
      [&] { receiver_ = std::make_unique<roce::RoceReceiver>(config, region_, std::vector{dtp_}, queues_, bell_); });
  endpoint_ = receiver_->endpoints()[0];
  const bool v6 = address.find(':') != std::string::npos;
  source_address_ = framing_ == roce::Framing::v1 ? cable.one.gid() : v6 ? cable.one.ipv6() : cable.one.ipv4();
  if (make_source) {
    const link::Endpoint source = make_source(endpoint_);
    receiver_->connect({&source, 1});
  }
  receiver_->start();
}

wire::Packet Target::line(std::uint32_t number) const {
  wire::Packet made;
  made.ethernet = wire::EthernetHeader{destination_mac_, source_mac_, {}};
  const bool v1 = framing_ == roce::Framing::v1;
  const wire::Address from = v1 ? wire::gid_address(source_address_) : wire::Address(source_address_, 5000);
  const wire::Address to = v1 ? wire::gid_address(endpoint_.address) : wire::Address(endpoint_.address, endpoint_.port);
  if (v1) {
    made.grh.emplace();
    made.grh->source = from.ip();
    made.grh->destination = to.ip();
  } else {
    made.udp = wire::UdpHeader{from.port(), to.port(), {}, {}};
    if (from.v6()) {
      made.ipv6.emplace();
      made.ipv6->source = from.ip();
      made.ipv6->destination = to.ip();
    } else {
      made.ipv4.emplace();
      made.ipv4->source = first_of<4>(from.ip());
      made.ipv4->destination = first_of<4>(to.ip());
    }
  }
  made.bth.opcode = 0x2A;
  made.bth.destination_qp = endpoint_.qpn;
  made.bth.psn = number;
  made.reth = wire::RethHeader{dtp_.placement.image_offset(0) + number * dtp_.placement.pitch, endpoint_.rkey, {}};
  made.payload.assign(dtp_.placement.line_bytes, static_cast<std::byte>(number));
  return made;
}

link::Counts Target::after(std::uint64_t packets) const {
  EXPECT_EVENTUALLY(receiver_->stats()["packets"] >= packets);
  const std::int64_t end = now_ns() + 10'000'000'000;
  // A packet is counted before what becomes of it is: until nothing has changed for a while.
  constexpr std::int64_t kQuietNs = 100'000'000;
  link::Counts known = receiver_->stats();
  for (std::int64_t since = now_ns(); now_ns() - since < kQuietNs && now_ns() < end;) {
    usleep(1000);  // wait: that nothing changes is the subject
    const link::Counts stats = receiver_->stats();
    if (stats != known) since = now_ns();
    known = stats;
  }
  EXPECT_EQ(known["packets"], packets);
  return known;
}

}  // namespace rashpa::net
