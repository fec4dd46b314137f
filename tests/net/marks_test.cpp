// SPDX-License-Identifier: Apache-2.0
/// Congestion: what is marked on the way is counted at its end, and the source hears of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include "chain.hpp"
#include "checks.hpp"
#include "frames.hpp"
#include "place.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/roce/sender.hpp"

namespace rashpa::net {
namespace {

namespace roce = link::roce;
constexpr std::uint8_t kEct0 = 2;
constexpr std::uint8_t kCe = 3;

struct Way {
  const char* name;
  roce::Options options;
  bool v6 = false;
};

class Marks : public testing::TestWithParam<Way> {
 protected:
  [[nodiscard]] std::string address(const Host& host) const {
    if (GetParam().options.framing == roce::Framing::v1) return host.gid();
    return GetParam().v6 ? host.ipv6() : host.ipv4();
  }
  // A packet with that traffic class.
  static wire::Packet marked(wire::Packet packet, std::uint8_t ecn) {
    if (packet.ipv4) packet.ipv4->tos = ecn;
    if (packet.ipv6) packet.ipv6->traffic_class = ecn;
    if (packet.grh) packet.grh->traffic_class = ecn;
    return packet;
  }
  Cable cable_;
  FrameSender wire_{cable_.one};
};

TEST_P(Marks, each_marked_packet_is_counted_and_no_other) {
  const Target target(cable_, GetParam().options, address(cable_.two));
  std::uint32_t ce = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const std::uint8_t ecn = i % 3 == 0 ? kCe : i % 3 == 1 ? kEct0 : 0;
    ce += ecn == kCe ? 1 : 0;
    wire::Packet packet = marked(target.line(i), ecn);
    packet.bth.fecn = i < 5 ? 1 : 0;
    packet.bth.becn = i < 7 ? 1 : 0;
    wire_.send(wire::encode(packet));
  }
  const link::Counts stats = target.after(60);
  EXPECT_EQ(stats["ce_packets"], ce);
  EXPECT_EQ(stats["fecn_packets"], 5U);
  EXPECT_EQ(stats["becn_packets"], 7U);
  EXPECT_EQ(stats["cnps_sent"], 0U) << "nobody has said where the source is";
  EXPECT_EQ(stats["icrc_bad"] + stats["malformed"], 0U);
}

TEST_P(Marks, the_source_hears_of_them_no_more_often_than_every_50_us) {
  std::unique_ptr<roce::RoceSender> source;
  const Target target(cable_, GetParam().options, address(cable_.two), [&](const link::Endpoint& destination) {
    roce::SenderConfig config;
    config.bind_address = address(cable_.one);
    config.options = GetParam().options;
    config.destination = destination;
    config.flow = link::Flow::paced;
    cable_.one.within([&] { source = roce::make_sender(config); });
    return source->endpoint();
  });
  const std::int64_t start = now_ns();
  for (std::uint32_t i = 0; i < 60; ++i) wire_.send(wire::encode(marked(target.line(i), kCe)));
  EXPECT_EVENTUALLY(target.stats()["ce_packets"] >= 60);
  const std::int64_t elapsed = now_ns() - start;
  EXPECT_EQ(target.after(60)["ce_packets"], 60U);
  const auto heard = [&] {
    const std::uint64_t sent = target.stats()["cnps_sent"];
    return sent > 0 && source->stats()["cnps_received"] == sent;
  };
  while (!heard() && now_ns() - start < 10'000'000'000) source->poll(500);
  EXPECT_TRUE(heard());
  EXPECT_LE(target.stats()["cnps_sent"], static_cast<std::uint64_t>(elapsed / 50'000 + 1));
}

TEST_P(Marks, notifications_reach_the_source_of_an_acquisition) {
  chain::Plan plan;
  plan.roce = GetParam().options;
  plan.roce.socket_buffer = 4U << 20;
  plan.source = place(cable_.one, address(cable_.one));
  plan.destination = place(cable_.two, address(cable_.two));
  plan.modules = 1;
  chain::Chain chain(chain::checked(plan));
  // One packet that a router has marked, as if from the source, with a wrong key so that it changes nothing else.
  wire::Packet packet;
  const link::Endpoint to = chain.receiver->endpoints()[0];
  const link::Endpoint from = chain.emulator->endpoints()[0];
  {
    const Target other(cable_, GetParam().options, address(cable_.two));
    packet = other.line();
  }
  if (packet.udp) {
    packet.udp->source_port = from.port;
    packet.udp->destination_port = to.port;
  }
  packet.bth.destination_qp = to.qpn;
  packet.reth->rkey = ~to.rkey;
  chain.receiver->start();
  wire_.send(wire::encode(marked(packet, kCe)));
  chain.emulator->start();
  ASSERT_TRUE(chain.emulator->wait(60));
  chain.receiver->finish();
  ASSERT_TRUE(chain.receiver->wait(60));
  const receiver::Status status = chain.receiver->status();
  EXPECT_EQ(status.link["ce_packets"], 1U);
  EXPECT_EQ(status.link["refused_key"], 1U);
  EXPECT_EQ(status.link["cnps_sent"], 1U);
  EXPECT_EQ(chain.emulator->status().dtps[0].link["cnps_received"], 1U);
  chain::expect_books_equal_the_log(chain);
}

INSTANTIATE_TEST_SUITE_P(Ways, Marks,
                         testing::Values(Way{"ipv4", {.pmtu = 256}},
                                         Way{"ipv4_without_gro", {.pmtu = 256, .gro = false}},
                                         Way{"ipv4_full_icrc", {.pmtu = 256, .icrc = roce::IcrcMode::full}},
                                         Way{"ipv6", {.pmtu = 256}, true},
                                         Way{"roce1", {.pmtu = 256, .framing = roce::Framing::v1}}),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace rashpa::net
