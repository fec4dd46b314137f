// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/credits/congestion.hpp"

#include <gtest/gtest.h>

#include "rashpa/link/roce/credits/credits.hpp"
#include "rashpa/wire/gid.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::link::roce {
namespace {

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

const wire::Address kReceiver("127.0.0.1", 4791);  // NOLINT: a test may throw before main
const wire::Address kSource("127.0.0.1", 50000);   // NOLINT

TEST(Congestion, a_notification_is_what_the_codec_makes) {
  CongestionNotifier notifier(kReceiver, kSource, 0x123, Framing::v2);
  wire::Packet packet;
  packet.ipv4.emplace();
  packet.ipv4->source = packet.ipv4->destination = {127, 0, 0, 1};
  packet.udp = wire::UdpHeader{4791, 50000, {}, {}};
  packet.bth.opcode = *wire::opcode_of("CNP");
  packet.bth.becn = 1;
  packet.bth.destination_qp = 0x123;
  packet.payload.assign(16, std::byte{0});
  const std::vector<std::byte> bytes = encode(packet);
  EXPECT_EQ(copy_of(notifier.packet(0)), std::vector<std::byte>(bytes.begin() + 28, bytes.end()));
}

TEST(Congestion, the_whole_frame_is_what_the_codec_makes) {
  const wire::Address from = wire::gid_address("fe80::8ec:aff:fe01:203");
  const wire::Address to = wire::gid_address("fe80::8ec:aff:fe01:204");
  CongestionNotifier notifier(from, to, 0x123, Framing::v1);
  const wire::Packet packet = wire::decode(notifier.packet(0), wire::Layer::ethernet);
  EXPECT_EQ(wire::opcode_name(packet.bth.opcode), "CNP");
  EXPECT_EQ(packet.bth.becn, 1);
  EXPECT_EQ(packet.icrc.verdict, wire::IcrcVerdict::ok);
  EXPECT_EQ(packet.grh->destination, to.ip());
  EXPECT_EQ(packet.ethernet->destination, *wire::mac_of(to.ip()));
}

TEST(Congestion, notifications_are_50_us_apart) {
  CongestionNotifier notifier(kReceiver, kSource, 17, Framing::v2);
  EXPECT_FALSE(notifier.packet(5).empty()) << "the first at once, however early";
  EXPECT_TRUE(notifier.packet(5).empty());
  EXPECT_TRUE(notifier.packet(50'004).empty());
  EXPECT_FALSE(notifier.packet(50'005).empty());
  EXPECT_TRUE(notifier.packet(50'006).empty());
}

TEST(Congestion, the_source_counts_what_is_meant_for_its_queue_pair) {
  const Endpoint self{"127.0.0.1", 50000, 17, 0xABCD, 64};
  CreditReader reader(self, kReceiver, kSource);
  CongestionNotifier right(kReceiver, kSource, 17, Framing::v2);
  auto bytes = copy_of(right.packet(0));
  EXPECT_EQ(reader.take(bytes, kReceiver), CreditReader::Taken::notice) << "it is no credit";
  EXPECT_EQ(reader.cnps(), 1U);
  EXPECT_EQ(reader.refused(), 0U);
  bytes[20] ^= std::byte{1};
  EXPECT_EQ(reader.take(bytes, kReceiver), CreditReader::Taken::nothing);
  CongestionNotifier other(kReceiver, kSource, 18, Framing::v2);
  bytes = copy_of(other.packet(0));
  EXPECT_EQ(reader.take(bytes, kReceiver), CreditReader::Taken::nothing);
  CongestionNotifier elsewhere(wire::Address("127.0.0.2", 4791), kSource, 17, Framing::v2);
  bytes = copy_of(elsewhere.packet(0));
  EXPECT_EQ(reader.take(bytes, wire::Address("127.0.0.2", 4791)), CreditReader::Taken::nothing);
  EXPECT_EQ(reader.cnps(), 1U);
  EXPECT_EQ(reader.refused(), 3U);
  EXPECT_EQ(reader.words().images, 0U);
}

TEST(Congestion, a_notification_of_an_rnic_is_known) {
  const wire::Packet packet = wire::decode(
      [] {
        const std::string hex =
            "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118000000"
            "000000000000000000000000000000000082fd002a";
        std::vector<std::byte> bytes;
        for (std::size_t i = 0; i < hex.size(); i += 2) {
          bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
        }
        return bytes;
      }(),
      wire::Layer::ethernet);
  const std::vector<std::byte> bytes = encode(packet);
  EXPECT_TRUE(is_congestion_notification(std::span(bytes).subspan(14 + 28)));
  EXPECT_FALSE(is_congestion_notification(std::span(bytes).subspan(14 + 28 + 1)));
}

}  // namespace
}  // namespace rashpa::link::roce
