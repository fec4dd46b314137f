// SPDX-License-Identifier: Apache-2.0
/// The full ICRC check on IPv4 and RoCEv1, both through packet sockets.
#include "frames.hpp"

#include <gtest/gtest.h>

#include <array>

#include "chain.hpp"
#include "checks.hpp"
#include "place.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/sender.hpp"

namespace rashpa::net {
namespace {

namespace roce = link::roce;
using link::Packetisation;
using link::Transport;
using roce::Framing;
using roce::IcrcMode;

enum class Family : std::uint8_t { v4, v6, gid };

struct Way {
  const char* name;
  Family family;
  roce::Options options;
  std::uint32_t threads = 1;
};

std::string address_of(const Host& host, Family family) {
  return family == Family::v4 ? host.ipv4() : family == Family::v6 ? host.ipv6() : host.gid();
}

class Frames : public testing::TestWithParam<Way> {
 protected:
  chain::Plan plan() const {
    chain::Plan plan;
    plan.source = place(cable_.one, address_of(cable_.one, GetParam().family));
    plan.destination = place(cable_.two, address_of(cable_.two, GetParam().family));
    plan.roce = GetParam().options;
    plan.roce.socket_buffer = 4U << 20;
    plan.frames = 2000;
    plan.deadline_ms = 500;
    plan.threads = GetParam().threads;
    return plan;
  }
  Cable cable_;
};

TEST_P(Frames, every_packet_that_arrives_has_exactly_the_right_icrc) {
  chain::Chain chain(chain::checked(plan()));
  ASSERT_TRUE(chain.play());
  const receiver::Status status = chain.receiver->status();
  EXPECT_EQ(status.buffers[0].books.complete, 2000U);
  EXPECT_GT(status.link["packets"], 2000U);
  EXPECT_EQ(status.link["icrc_exact"], status.link["packets"]);
  EXPECT_EQ(status.link["icrc_bad"] + status.link["icrc_modulo_id"] + status.link["malformed"], 0U);
  EXPECT_EQ(status.link["ce_packets"] + status.link["cnps_sent"], 0U);
  chain::expect_books_equal_the_log(chain);
  // The port is not closed for those who look at it from outside.
  cable_.one.run("test $(awk '/^Icmp:/ {n++; if (n == 2) print $5}' /proc/net/snmp) = 0");
}

TEST_P(Frames, every_injected_fault_is_in_the_books) {
  chain::Plan faulty = plan();
  faulty.faults.seed = 5;
  const bool repairs = GetParam().options.transport == Transport::rc;
  if (repairs) faulty.deadline_ms = 5000;
  faulty.faults.drop = faulty.faults.duplicate = faulty.faults.reorder = faulty.faults.corrupt = 0.01;
  chain::Chain chain(chain::checked(faulty));
  ASSERT_TRUE(chain.play());
  const emulator::Injected injected = chain.emulator->injected();
  const link::Counts link = chain.receiver->status().link;
  EXPECT_GT(injected.drop, 100U);
  if (repairs) {
    EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, faulty.frames);
  } else {
    EXPECT_GT(chain.receiver->status().buffers[0].books.partial, 0U);
  }
  if (GetParam().family == Family::gid) {
    // A bit of the queue pair's number makes it another receiver's frame, which the filter leaves alone.
    EXPECT_LE(link["icrc_bad"], injected.corrupt);
    EXPECT_GT(link["icrc_bad"], injected.corrupt * 8 / 10);
  } else {
    EXPECT_EQ(link["icrc_bad"], injected.corrupt);
  }
  EXPECT_EQ(link["icrc_modulo_id"], 0U);
  chain::expect_books_equal_the_log(chain);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Frames,
    testing::Values(
        Way{"ipv4", Family::v4, {.pmtu = 256, .icrc = IcrcMode::full}},
        Way{"ipv4_long_messages",
            Family::v4,
            {.pmtu = 256, .packetisation = Packetisation::first_middle_last, .icrc = IcrcMode::full}},
        Way{"ipv4_without_gso", Family::v4, {.pmtu = 256, .gso = false, .gro = false, .icrc = IcrcMode::full}},
        Way{"ipv4_two_threads", Family::v4, {.pmtu = 256, .icrc = IcrcMode::full}, 2},
        Way{"ipv6", Family::v6, {.pmtu = 256, .icrc = IcrcMode::full}},
        Way{"ipv6_by_udp_sockets_is_exact_as_well", Family::v6, {.pmtu = 256, .icrc = IcrcMode::modulo_id}},
        Way{"roce1", Family::gid, {.pmtu = 256, .framing = Framing::v1}},
        Way{"roce1_long_messages",
            Family::gid,
            {.pmtu = 256, .packetisation = Packetisation::first_middle_last, .framing = Framing::v1}},
        Way{"roce1_two_threads", Family::gid, {.pmtu = 256, .framing = Framing::v1}, 2},
        Way{"ipv4_rc", Family::v4, {.transport = Transport::rc, .pmtu = 256, .icrc = IcrcMode::full}},
        Way{"roce1_rc", Family::gid, {.transport = Transport::rc, .pmtu = 256, .framing = Framing::v1}},
        Way{"roce1_ud", Family::gid, {.transport = Transport::ud, .pmtu = 256, .framing = Framing::v1}}),
    [](const auto& way) { return way.param.name; });

class OneFrame : public testing::Test {
 protected:
  Cable cable_;
  FrameSender wire_{cable_.one};
};

TEST_F(OneFrame, with_an_icrc_for_another_identification_is_refused_by_the_full_check_only) {
  const auto send_three = [this](const Target& target) {
    for (const std::uint16_t id :
         std::array<std::uint16_t, 2>{0, 0xBEEF}) {  // what the ICRC says is what the header says
      wire::Packet right = target.line();
      right.ipv4->id = id;
      wire_.send(wire::encode(right));
    }
    wire::Packet wrong = target.line();
    wrong.ipv4->id = 0xBEEF;
    wrong.icrc.value = wire::decode(wire::encode(wrong), wire::Layer::ethernet).icrc.value;
    wrong.ipv4->id = 0xBEEE;
    wire_.send(wire::encode(wrong));
  };
  const Target full(cable_, {.pmtu = 256, .icrc = IcrcMode::full}, cable_.two.ipv4());
  send_three(full);
  const link::Counts strict = full.after(3);
  EXPECT_EQ(strict["icrc_exact"], 2U);
  EXPECT_EQ(strict["icrc_bad"], 1U);
  EXPECT_EQ(strict["icrc_modulo_id"], 0U);
  const Target modulo(cable_, {.pmtu = 256, .icrc = IcrcMode::modulo_id}, cable_.two.ipv4());
  send_three(modulo);
  const link::Counts lenient = modulo.after(3);
  EXPECT_EQ(lenient["icrc_exact"], 1U);
  EXPECT_EQ(lenient["icrc_modulo_id"], 2U);
  EXPECT_EQ(lenient["icrc_bad"], 0U);
}

TEST_F(OneFrame, that_is_no_packet_is_counted_and_never_trusted) {
  const Target target(cable_, {.pmtu = 256, .icrc = IcrcMode::full}, cable_.two.ipv4());
  wire::Packet fragment = target.line();
  fragment.ipv4->flags = 1;  // more will follow
  wire_.send(wire::encode(fragment));
  wire::Packet options = target.line();
  options.ipv4->options.assign(4, std::byte{1});
  wire_.send(wire::encode(options));
  wire::Packet cut = target.line();
  cut.ipv4->total_length = 2000;
  wire_.send(wire::encode(cut));
  wire::Packet lying = target.line();
  lying.udp->length = 40;
  wire_.send(wire::encode(lying));
  wire_.send(wire::encode(target.line()));
  const link::Counts stats = target.after(5);
  EXPECT_EQ(stats["malformed"], 4U);
  EXPECT_EQ(stats["icrc_exact"], 1U);
  EXPECT_EQ(stats["payload_bytes"], 256U);
}

TEST_F(OneFrame, with_bytes_behind_it_is_as_long_as_its_headers_say) {
  const Target full(cable_, {.pmtu = 256, .icrc = IcrcMode::full}, cable_.two.ipv4());
  const Target first(cable_, {.pmtu = 256, .framing = Framing::v1}, cable_.two.gid());
  for (const Target* target : {&full, &first}) {
    wire::Packet padded = target->line();
    padded.trailing.assign(6, std::byte{0x5A});
    wire_.send(wire::encode(padded));
    EXPECT_EQ(target->after(1)["icrc_exact"], 1U);
  }
}

TEST_F(OneFrame, of_another_vlan_is_not_ours_but_a_priority_tag_is) {
  const Target target(cable_, {.pmtu = 256, .framing = Framing::v1}, cable_.two.gid());
  wire::Packet priority = target.line();
  priority.vlan = {{.priority = 3, .id = 0}};
  wire_.send(wire::encode(priority));
  EXPECT_EQ(target.after(1)["icrc_exact"], 1U);
  wire::Packet other = target.line();
  other.vlan = {{.priority = 3, .id = 7}};
  wire_.send(wire::encode(other));
  wire_.send(wire::encode(target.line(1)));
  const link::Counts stats = target.after(2);
  EXPECT_EQ(stats["icrc_exact"], 2U) << "the kernel shows frames of another VLAN to nobody who has not asked";
}

TEST_F(OneFrame, for_another_queue_pair_or_station_is_left_to_its_owner) {
  const Target target(cable_, {.pmtu = 256, .framing = Framing::v1}, cable_.two.gid());
  wire::Packet other = target.line();
  other.bth.destination_qp += 1;
  wire_.send(wire::encode(other));
  other = target.line();
  other.ethernet->destination[5] ^= 1;
  wire_.send(wire::encode(other));
  other = target.line();
  other.grh->destination[15] ^= 1;
  wire_.send(wire::encode(other));
  wire_.send(wire::encode(target.line()));
  EXPECT_EQ(target.after(1)["icrc_exact"], 1U);
}

TEST(PacketSockets, watch_every_address_of_the_machine_for_a_wildcard) {
  const Cable cable;
  const std::string alias = "10.78.0.2";
  cable.two.run("ip addr add " + alias + "/24 dev " + cable.two.interface());
  cable.one.run("ip route add " + alias + " dev " + cable.one.interface());
  const FrameSender wire(cable.one);
  const Target target(cable, {.pmtu = 256, .icrc = IcrcMode::full}, "0.0.0.0");
  const auto line_to = [&](const std::string& address, std::uint32_t number) {
    wire::Packet line = target.line(number);
    const auto ip = wire::Address(address, 0).ip();
    std::copy_n(ip.begin(), 4, line.ipv4->destination.begin());
    return wire::encode(line);
  };
  wire.send(line_to(cable.two.ipv4(), 0));
  wire.send(line_to("10.77.0.99", 1));  // to our station, but not to an address of ours
  wire.send(line_to("127.0.0.1", 2));   // one that no wire may bring
  wire.send(line_to(alias, 3));
  const link::Counts stats = target.after(2);
  EXPECT_EQ(stats["icrc_exact"], 2U);
  EXPECT_EQ(stats["payload_bytes"], 2U * 256U);
}

TEST(PacketSockets, see_what_a_machine_sends_to_itself_by_lo) {
  const Cable cable;
  for (const std::string& address : {std::string("127.0.0.1"), cable.one.ipv4()}) {
    chain::Plan plan;
    plan.roce = {.pmtu = 1024, .icrc = IcrcMode::full};
    plan.source.address = plan.destination.address = address;
    plan.source.within = plan.destination.within = [&](const std::function<void()>& make) { cable.one.within(make); };
    chain::Chain chain(chain::checked(plan));
    ASSERT_TRUE(chain.play());
    const receiver::Status status = chain.receiver->status();
    EXPECT_EQ(status.buffers[0].books.complete, 200U);
    EXPECT_EQ(status.link["icrc_exact"], status.link["packets"]);
    chain::expect_books_equal_the_log(chain);
  }
}

// The message of the ConfigError that `make` throws.
std::string refusal(const std::function<void()>& make) {
  try {
    make();
  } catch (const ConfigError& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST_F(OneFrame, addresses_that_cannot_work_are_refused_with_what_to_write) {
  const auto receiver = [this](const roce::Options& options, const std::string& address) {
    return refusal([&] { const Target target(cable_, options, address); });
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
  };
  const roce::Options v1{.pmtu = 256, .framing = Framing::v1};
  EXPECT_TRUE(has(receiver(v1, cable_.two.ipv4()), cable_.two.gid()));
  EXPECT_TRUE(has(receiver(v1, cable_.two.link_local()), cable_.two.gid()));
  EXPECT_TRUE(has(receiver(v1, cable_.two.link_local() + "%eth77"), "no Ethernet interface 'eth77'"));
  EXPECT_TRUE(has(receiver(v1, "fe80::1%" + cable_.two.interface()), "write " + cable_.two.gid()));
  EXPECT_TRUE(has(receiver(v1, "fe80::1%lo"), cable_.two.gid()));
  cable_.two.run("ip link set " + cable_.two.interface() + " mtu 1100");
  EXPECT_TRUE(has(receiver({.pmtu = 1024 * 2, .framing = Framing::v1}, cable_.two.gid()), "needs an MTU of 2124"));

  const auto sender = [this](const std::string& destination, std::uint32_t pmtu) {
    roce::SenderConfig config;
    config.bind_address = cable_.one.gid();
    config.destination = {destination, 0, 17, 1, 0};
    config.options = {.pmtu = pmtu, .framing = Framing::v1};
    return refusal([&] { cable_.one.within([&] { const auto made = roce::make_sender(config); }); });
  };
  EXPECT_TRUE(has(sender(cable_.two.ipv4(), 256), "fe80::8ec:aff:fe01:203"));
  cable_.one.run("ip link set " + cable_.one.interface() + " mtu 1100");
  EXPECT_TRUE(has(sender(cable_.two.gid(), 2048), "needs an MTU of 2124"));
}

}  // namespace
}  // namespace rashpa::net
