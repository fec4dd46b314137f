// SPDX-License-Identifier: Apache-2.0
/// The link sls with engine xdp between two hosts: its contract, and what comes beside an SLS detector's datagrams.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cstring>

#include "network.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/sls/testing/sls_contract.hpp"
#include "rashpa/link/sls/testing/udp_frame.hpp"
#include "rashpa/link/sls/xdp/interface.hpp"
#include "rashpa/link/sls/xdp/kernel.hpp"

namespace rashpa::link::sls {
namespace {

// A queuing discipline at each interface holds frames back while the other end's ring is full: Linux 6.16 and newer.
const net::Cable& cable() {
  static const net::Cable* const one = [] {
    auto* const made = new net::Cable;  // NOLINT: lives as long as the program
    for (const net::Host* host : {&made->one, &made->two}) {
      host->run("tc qdisc add dev " + host->interface() + " root pfifo limit 100000");
    }
    return made;
  }();
  return *one;
}

Network over_veth() {
  Network network;
  network.why_not = xdp::why_not();
  if (!network.why_not.empty()) return network;
  const net::Cable& way = cable();
  network.sender = way.one.ipv4();
  network.receiver = way.two.ipv4();
  network.at_sender = [&way](const auto& work) { way.one.within(work); };
  network.at_receiver = [&way](const auto& work) { way.two.within(work); };
  network.engine = EngineKind::xdp;
  return network;
}

// A second cable between the same hosts, of two queues.
Network over_two_queues() {
  Network network = over_veth();
  if (!network.why_not.empty()) return network;
  const net::Cable& way = cable();
  static const bool made = [&] {
    way.one.run(
        fmt::format("ip link add wide1 mtu 9000 numrxqueues 2 numtxqueues 2 type veth "
                    "peer name wide2 mtu 9000 numrxqueues 2 numtxqueues 2 netns {}",
                    way.two.path()));
    for (const auto& [host, number] : {std::pair(&way.one, 1), std::pair(&way.two, 2)}) {
      host->run(fmt::format("tc qdisc add dev wide{} root pfifo limit 100000", number));
      host->run(fmt::format("ip addr add 10.78.0.{0}/24 dev wide{0} && ip link set wide{0} up", number));
    }
    return true;
  }();
  EXPECT_TRUE(made);
  network.sender = "10.78.0.1";
  network.receiver = "10.78.0.2";
  return network;
}

Network over_veth_gathered() {
  Network network = over_veth();
  network.device = far_end;
  return network;
}

INSTANTIATE_TEST_SUITE_P(Xdp, SlsContract,
                         ::testing::Values(ContractNetwork{"veth", &over_veth},
                                           ContractNetwork{"two_queues", &over_two_queues},
                                           ContractNetwork{"gathered", &over_veth_gathered}),
                         [](const auto& param) { return std::string(param.param.name); });

class SlsXdp : public ::testing::Test {
 protected:
  void SetUp() override {
    network_ = over_veth();
    if (!network_.why_not.empty()) GTEST_SKIP() << network_.why_not;
  }
  /// A detector's image in one port, which begins the run.
  void begin(Connected& link) {
    link.receiver->start();
    link.send(0, 0);
    EXPECT_EQ(link.next().completeness, Completeness::complete);
  }
  /// Puts a frame on the cable as it is.
  void put(std::span<const std::byte> frame) {
    network_.at_sender([&] {
      const FileDescriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
      sockaddr_ll to{};
      to.sll_family = AF_PACKET;
      to.sll_ifindex = static_cast<int>(if_nametoindex(cable().one.interface().c_str()));
      ASSERT_EQ(sendto(socket.get(), frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to),
                static_cast<ssize_t>(frame.size()));
    });
  }
  /// A frame to the port of a DTP.
  testing::UdpFrame frame_to(Connected& link, std::span<const std::byte> payload) {
    testing::UdpFrame::Way way;
    way.to_mac = {0x02, 0, 0, 0, 0x77, 0x02};
    way.port = link.receiver->endpoints()[0].port;
    return testing::UdpFrame(payload, way);
  }
  Network network_;
};

TEST_F(SlsXdp, frames_with_wrong_checksums_and_lengths_are_counted_and_change_nothing) {
  Connected link(network_, eiger(4), 1, 3, 4);
  begin(link);
  const auto stats = [&] { return link.receiver->stats(); };
  const std::uint64_t packets = stats()["packets"];
  const std::vector<std::byte> foreign(500, std::byte{7});
  std::vector<std::byte> wrong = frame_to(link, foreign).bytes();
  wrong[200] ^= std::byte{1};
  put(wrong);
  testing::UdpFrame shorter = frame_to(link, foreign);
  shorter.set(39, 9);
  put(shorter.bytes());
  put(frame_to(link, {}).bytes());
  ASSERT_EVENTUALLY(stats()["packets"] == packets + 3);
  EXPECT_EQ(stats()["bad_checksum"], 1U);
  EXPECT_EQ(stats()["malformed"], 2U);
  link.send(0, 1);
  EXPECT_EQ(link.next().completeness, Completeness::complete);
  link.receiver->stop();
}

TEST_F(SlsXdp, the_kernel_gets_frames_back_when_the_gather_that_reads_them_has_ended) {
  constexpr std::uint32_t kPackets = 32;  // of an image, of two chunks each: the memory holds one
  std::shared_ptr<memory::testing::FarImages> images;
  network_.device = [&images](std::span<std::byte> bytes) {
    images = std::make_shared<memory::testing::FarImages>(bytes);
    return DeviceEnd{images, ReceiverMemory(images->block(), bytes, images.get())};
  };
  Options options = eiger(8);
  options.first_frame = 1;
  options.socket_buffer = 4096;
  Connected link(network_, options, 1, 9, 8);
  images->stuck = true;
  link.receiver->start();
  const auto stats = [&] { return link.receiver->stats(); };
  for (std::uint64_t k = 0; k < 6; ++k) {
    link.send(0, k);
    ASSERT_EVENTUALLY(stats()["packets"] + stats()["host_drops"] == (k + 1) * kPackets);
  }
  EXPECT_GT(stats()["xdp_dropped"], 0U) << "nothing is given back yet";
  EXPECT_TRUE(link.none_left());
  images->stuck = false;
  const Arrival arrival = link.next();
  EXPECT_EQ(arrival.index, 0U);
  EXPECT_EQ(arrival.completeness, Completeness::complete);
  link.expect_pixels(arrival);
  link.receiver->stop();
}

TEST_F(SlsXdp, fragments_and_tagged_frames_come_by_the_kernels_socket) {
  Connected link(network_, eiger(4), 1, 3, 4);
  begin(link);
  const auto stats = [&] { return link.receiver->stats(); };
  const std::uint64_t packets = stats()["packets"];
  const std::vector<std::byte> foreign(500, std::byte{7});
  std::vector<std::byte> tagged = frame_to(link, foreign).bytes();
  const std::array<std::byte, 4> priority{std::byte{0x81}, std::byte{0}, std::byte{0xA0}, std::byte{0}};  // VLAN 0
  tagged.insert(tagged.begin() + 12, priority.begin(), priority.end());
  put(tagged);
  ASSERT_EVENTUALLY(stats()["packets"] == packets + 1);
  const std::vector<std::byte> longer(20'000);  // than the MTU
  link.send_bytes(0, longer);
  ASSERT_EVENTUALLY(stats()["packets"] > packets + 1);
  EXPECT_EQ(stats()["malformed"], stats()["packets"] - packets);
  link.send(0, 1);
  EXPECT_EQ(link.next().completeness, Completeness::complete);
  link.receiver->stop();
}

TEST_F(SlsXdp, other_traffic_goes_on_to_the_kernel) {
  Connected link(network_, eiger(4), 1, 3, 4);
  begin(link);
  std::unique_ptr<roce::UdpSocket> other;
  network_.at_receiver([&] {
    other = std::make_unique<roce::UdpSocket>(false);
    other->bind(wire::Address(network_.receiver, 0));
  });
  network_.at_sender([&] {
    const roce::UdpSocket from(false);
    const wire::Address to = other->local();
    EXPECT_EQ(sendto(from.fd(), "hello", 5, 0, to.get(), to.bytes()), 5);
  });
  std::array<char, 8> got{};
  ASSERT_EVENTUALLY(recv(other->fd(), got.data(), got.size(), MSG_DONTWAIT) == 5);
  EXPECT_STREQ(got.data(), "hello");
  link.receiver->stop();
  EXPECT_EQ(link.receiver->stats()["packets"], 16U);
}

TEST_F(SlsXdp, an_interface_has_one_receiver_and_is_free_after_it) {
  const auto make = [&] { Connected link(network_, eiger(4), 1, 3, 4); };
  {
    Connected link(network_, eiger(4), 1, 3, 4);
    try {
      make();
      ADD_FAILURE() << "a second program at the interface";
    } catch (const ResourceError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("another program has this interface"));
    }
  }
  make();
}

TEST_F(SlsXdp, datagrams_that_nobody_has_cut_are_cut) {
  Network loopback = network_;  // lo has no driver with XDP, and passes on what the sender gave it
  loopback.sender = loopback.receiver = "127.0.0.1";
  loopback.at_sender = loopback.at_receiver;
  Connected link(loopback, eiger(16), 2, 20, 4);
  link.receiver->start();
  for (std::uint64_t k = 0; k < 20; ++k) {
    for (std::size_t d = 0; d < 2; ++d) link.send(d, k);
    for (std::size_t d = 0; d < 2; ++d) {
      const Arrival arrival = link.next();
      ASSERT_EQ(arrival.completeness, Completeness::complete);
      link.expect_pixels(arrival);
      link.receiver->release(arrival.dtp, k + 1);
    }
  }
  link.receiver->stop();
  EXPECT_EQ(link.receiver->stats()["packets"], 20U * 2 * 64);
}

TEST_F(SlsXdp, interfaces_tell_their_queues) {
  network_.at_receiver([&] { EXPECT_EQ(xdp::interface_with(wire::Address(network_.receiver, 0)).queues, 1U); });
  const Network wide = over_two_queues();
  wide.at_receiver([&] {
    const xdp::Interface found = xdp::interface_with(wire::Address(wide.receiver, 0));
    EXPECT_EQ(found.queues, 2U);
    EXPECT_EQ(found.name, "wide2");
  });
}

TEST_F(SlsXdp, an_address_of_no_interface_is_refused) {
  network_.receiver = "127.9.9.9";  // a socket opens there, as lo has all of 127.0.0.0/8
  try {
    const Connected link(network_, eiger(4), 1, 3, 4);
    ADD_FAILURE() << "no interface has it";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no interface here has 127.9.9.9"));
  }
}

}  // namespace
}  // namespace rashpa::link::sls
