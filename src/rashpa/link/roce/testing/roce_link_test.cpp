// SPDX-License-Identifier: Apache-2.0
/// Sender → receiver over loopback sockets.
#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/testing/loopback_chain.hpp"

namespace rashpa::link::roce {
namespace {

using testing::Chain;
using testing::ChainConfig;
using testing::end_of;
using testing::have_ipv6;
using testing::small_dtp;
using testing::Source;

struct Case {
  const char* name;
  Packetisation packetisation = Packetisation::only;
  std::uint32_t pmtu = 4096;
  std::uint32_t line_bytes = 4096;
  std::uint32_t gap = 0;
  bool v6 = false;
  bool gso = true;
  bool gro = true;
  std::uint32_t threads = 1;
  bool wildcard = false;
  Transport transport = Transport::uc;
};

class RoceLink : public ::testing::TestWithParam<Case> {};

TEST_P(RoceLink, carries_every_byte_of_every_image) {
  const Case& c = GetParam();
  if (c.v6 && !have_ipv6()) GTEST_SKIP() << "no IPv6 loopback here";
  ChainConfig setup;
  setup.address = c.v6 ? "::1" : c.wildcard ? "0.0.0.0" : "127.0.0.1";
  setup.options = {.transport = c.transport,
                   .pmtu = c.pmtu,
                   .packetisation = c.packetisation,
                   .gso = c.gso,
                   .gro = c.gro,
                   .window_bytes = 1 << 18};
  setup.threads = c.threads;
  setup.dtps = {small_dtp(3, 60, 37, c.line_bytes, 4, c.gap)};
  setup.dtps.push_back(small_dtp(200, 40, 11, c.line_bytes, 5, c.gap, end_of(setup.dtps[0])));
  Chain chain(setup);
  chain.run();
  for (std::uint32_t d = 0; d < 2; ++d) {
    ASSERT_EQ(chain.arrivals[d].size(), setup.dtps[d].images);
    for (const Arrival& arrival : chain.arrivals[d]) EXPECT_EQ(arrival.completeness, Completeness::complete);
  }
  const Counts stats = chain.receiver->stats();
  EXPECT_EQ(stats["events"], 100U);
  EXPECT_EQ(
      stats["icrc_bad"] + stats["malformed"] + stats["unknown_qp"] + stats["refused_key"] + stats["sequence_drops"],
      0U);
  EXPECT_EQ(stats["late_packets"] + stats["overrun_packets"] + stats["bad_records"], 0U);
  std::uint64_t repeated = 0;  // by RC, when this machine lets the receiver answer too late
  for (const auto& sender : chain.senders) repeated += sender->stats()["retransmitted_packets"];
  EXPECT_LE(stats["duplicate_packets"], repeated);
  EXPECT_TRUE(repeated == 0 || c.transport == Transport::rc);
  EXPECT_EQ(stats["icrc_exact"] + stats["icrc_modulo_id"], stats["packets"]);
  if (c.gro || !c.gso || c.v6) {
    EXPECT_EQ(stats["icrc_modulo_id"], 0U);
  }
  EXPECT_EQ(chain.closes, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Loopback, RoceLink,
    ::testing::Values(
        Case{"only4096"}, Case{"only1024", Packetisation::only, 1024, 1024},
        Case{"only256_odd_lines", Packetisation::only, 256, 1030},
        Case{"only4096_merged_short_lines", Packetisation::only, 4096, 514},
        Case{"only4096_gaps", Packetisation::only, 4096, 1030, 16}, Case{"fml4096", Packetisation::first_middle_last},
        Case{"fml1024_gaps", Packetisation::first_middle_last, 1024, 4100, 12},
        Case{"fml256_odd", Packetisation::first_middle_last, 256, 1030},
        Case{"only_v6", Packetisation::only, 4096, 4096, 0, true},
        Case{"fml_v6_1024", Packetisation::first_middle_last, 1024, 2050, 0, true},
        Case{"no_gso", Packetisation::only, 1024, 1024, 0, false, false, true},
        Case{"no_gro", Packetisation::only, 1024, 1024, 0, false, true, false},
        Case{"neither", Packetisation::first_middle_last, 1024, 4096, 0, false, false, false},
        Case{"two_threads", Packetisation::only, 4096, 4096, 0, false, true, true, 2},
        Case{"wildcard", Packetisation::only, 4096, 4096, 0, false, true, true, 1, true},
        Case{"rc", Packetisation::only, 4096, 4096, 0, false, true, true, 1, false, Transport::rc},
        Case{"rc_fml_odd", Packetisation::first_middle_last, 256, 1030, 0, false, true, true, 1, false, Transport::rc},
        Case{"rc_v6_two_threads", Packetisation::first_middle_last, 1024, 2050, 12, true, true, true, 2, false,
             Transport::rc},
        Case{"rc_no_offload", Packetisation::only, 1024, 1030, 0, false, false, false, 1, false, Transport::rc},
        Case{"rc_wildcard", Packetisation::only, 4096, 4096, 0, false, true, true, 1, true, Transport::rc},
        Case{"ud", Packetisation::only, 4096, 4096, 0, false, true, true, 1, false, Transport::ud},
        Case{"ud_256_odd_lines", Packetisation::only, 256, 1030, 0, false, true, true, 1, false, Transport::ud},
        Case{"ud_v6_gaps", Packetisation::only, 1024, 1030, 16, true, true, true, 1, false, Transport::ud},
        Case{"ud_no_offload_two_threads", Packetisation::only, 1024, 700, 0, false, false, false, 2, true,
             Transport::ud}),
    [](const auto& param) { return param.param.name; });

struct FaultCase {
  const char* name;
  FaultConfig faults;
  Packetisation packetisation = Packetisation::only;
  bool gso = true;
  bool v6 = false;
  Transport transport = Transport::uc;
  IcrcMode icrc = IcrcMode::modulo_id;
};

class RoceFaults : public ::testing::TestWithParam<FaultCase> {};

TEST_P(RoceFaults, arrivals_equal_the_log_of_the_injector) {
  const FaultCase& c = GetParam();
  if (c.v6 && !have_ipv6()) GTEST_SKIP() << "no IPv6 loopback here";
  ChainConfig setup;
  setup.address = c.v6 ? "::1" : "127.0.0.1";
  setup.options = {.transport = c.transport,
                   .pmtu = 256,
                   .packetisation = c.packetisation,
                   .gso = c.gso,
                   .icrc = c.icrc,
                   .window_bytes = 1 << 17};
  setup.faults = c.faults;
  const bool checked = c.icrc != IcrcMode::off;
  setup.dtps = {small_dtp(1, 1500, 12, 600, 8)};
  setup.dtps.push_back(small_dtp(2, 1500, 3, 256, 6, 8, end_of(setup.dtps[0])));
  Chain chain(setup);
  chain.run();
  std::uint64_t differences = 0;
  std::uint64_t incomplete = 0;
  for (std::uint32_t d = 0; d < 2; ++d) {
    ASSERT_EQ(chain.arrivals[d].size(), setup.dtps[d].images);
    for (const Arrival& arrival : chain.arrivals[d]) {
      const Completeness fate = chain.senders[d]->fates()->fate(arrival.index);
      incomplete += fate != Completeness::complete ? 1U : 0U;
      if (!checked && arrival.completeness == Completeness::partial) {
        EXPECT_EQ(arrival.loss, Loss::corrupt) << "nothing proves the lines that came";
        EXPECT_EQ(arrival.lines_missing, setup.dtps[d].placement.lines);
        EXPECT_EQ(arrival.map, nullptr);
      }
      if (fate == arrival.completeness) continue;
      if (++differences < 6) {
        ADD_FAILURE() << "DTP " << d << " image " << arrival.index << ": log " << int(fate) << ", link "
                      << int(arrival.completeness) << ", loss " << int(arrival.loss);
      }
    }
  }
  EXPECT_EQ(differences, 0U);
  FaultCounts injected;
  for (const auto& sender : chain.senders) {
    const FaultCounts one = sender->injected();
    injected.drop += one.drop;
    injected.duplicate += one.duplicate;
    injected.reorder += one.reorder;
    injected.corrupt += one.corrupt;
  }
  EXPECT_EQ(injected.drop > 0, c.faults.drop > 0);
  EXPECT_EQ(injected.duplicate > 0, c.faults.duplicate > 0);
  EXPECT_EQ(injected.reorder > 0, c.faults.reorder > 0);
  EXPECT_EQ(injected.corrupt > 0, c.faults.corrupt > 0);
  EXPECT_EQ(chain.receiver->stats()["icrc_bad"], checked ? injected.corrupt : 0U);
  EXPECT_EQ(chain.receiver->stats()["crc_mismatches"] > 0, !checked) << "what the ICRC does not find the CRC32C does";
  if (c.faults.drop + c.faults.corrupt > 0) {
    EXPECT_GT(incomplete, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RoceFaults,
    ::testing::Values(
        FaultCase{"drop", {11, 0.01, 0, 0, 0}}, FaultCase{"duplicate", {12, 0, 0.02, 0, 0}},
        FaultCase{"reorder", {13, 0, 0, 0.05, 0}}, FaultCase{"corrupt", {14, 0, 0, 0, 0.01}},
        FaultCase{"mixed", {15, 0.005, 0.005, 0.02, 0.005}}, FaultCase{"mixed_often", {16, 0.1, 0.1, 0.1, 0.1}},
        FaultCase{"mixed_no_gso", {17, 0.01, 0.01, 0.02, 0.01}, Packetisation::only, false},
        FaultCase{"mixed_v6", {18, 0.01, 0.01, 0.02, 0.01}, Packetisation::only, true, true},
        FaultCase{"fml_drop", {21, 0.01, 0, 0, 0}, Packetisation::first_middle_last},
        FaultCase{"fml_duplicate", {22, 0, 0.02, 0, 0}, Packetisation::first_middle_last},
        FaultCase{"fml_reorder", {23, 0, 0, 0.02, 0}, Packetisation::first_middle_last},
        FaultCase{"fml_mixed", {24, 0.005, 0.005, 0.01, 0.005}, Packetisation::first_middle_last},
        FaultCase{"fml_mixed_often", {25, 0.05, 0.05, 0.05, 0.05}, Packetisation::first_middle_last},
        FaultCase{"unchecked_mixed_often",
                  {26, 0.01, 0.05, 0.05, 0.01},
                  Packetisation::only,
                  true,
                  false,
                  Transport::uc,
                  IcrcMode::off},
        FaultCase{"unchecked_fml_mixed",
                  {27, 0.005, 0.005, 0.01, 0.005},
                  Packetisation::first_middle_last,
                  true,
                  false,
                  Transport::uc,
                  IcrcMode::off},
        FaultCase{"unchecked_ud_mixed",
                  {28, 0.005, 0.005, 0.01, 0.005},
                  Packetisation::only,
                  true,
                  true,
                  Transport::ud,
                  IcrcMode::off},
        FaultCase{"ud_drop", {31, 0.01, 0, 0, 0}, Packetisation::only, true, false, Transport::ud},
        FaultCase{"ud_mixed_often", {32, 0.05, 0.05, 0.05, 0.05}, Packetisation::only, true, false, Transport::ud},
        FaultCase{"ud_mixed_v6_no_gso", {33, 0.01, 0.01, 0.02, 0.01}, Packetisation::only, false, true, Transport::ud}),
    [](const auto& param) { return param.param.name; });

TEST(RoceReceiver, says_which_port_is_in_use) {
  ArrivalQueues queues(1, 16);
  Doorbell bell;
  const auto dtp = small_dtp(1, 1, 1, 64, 2);
  std::vector<std::byte> region(end_of(dtp));
  const RoceReceiver first({}, region, {dtp}, queues, bell);
  ReceiverConfig config;
  config.port = first.endpoints()[0].port;
  try {
    const RoceReceiver second(config, region, {dtp}, queues, bell);
    FAIL() << "the port is taken";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("127.0.0.1 port " + std::to_string(config.port)), std::string::npos)
        << error.what();
  }
}

// A sender that knows everything but is not the connected source: from another address, and with UD from another queue
// pair.
TEST(RoceReceiver, a_stranger_who_knows_all_keys_writes_nothing_and_is_counted) {
  struct Stranger {
    Transport transport;
    const char* address;
  };
  for (const Stranger& c : {Stranger{Transport::uc, "127.0.0.2"}, Stranger{Transport::rc, "127.0.0.2"},
                            Stranger{Transport::ud, "127.0.0.2"}, Stranger{Transport::ud, "127.0.0.1"}}) {
    ChainConfig setup;
    setup.options.transport = c.transport;
    setup.options.pmtu = 1024;
    setup.flow = Flow::paced;
    setup.dtps = {small_dtp(1, 1, 4, 900, 2)};
    Chain chain(setup);
    chain.receiver->start();
    SenderConfig config;
    config.bind_address = c.address;
    config.destination = chain.receiver->endpoints()[0];
    config.options = setup.options;
    config.flow = setup.flow;
    const auto stranger_owner = make_sender(config);
    RoceSender& stranger = *stranger_owner;
    const std::int64_t until = now_ns() + 20'000'000'000;
    const auto seen = [&] { return chain.receiver->stats()["wrong_source"] >= 5 || now_ns() > until; };
    Source(setup.dtps[0], stranger).send(0, seen);
    while (!seen()) stranger.poll(500);
    EXPECT_GE(chain.receiver->stats()["wrong_source"], 5U) << "four lines and an event, with rc again and again";
    EXPECT_EQ(chain.receiver->stats()["payload_bytes"], 0U);
    chain.run_on();
    ASSERT_EQ(chain.arrivals[0].size(), 1U);
    EXPECT_EQ(chain.arrivals[0][0].completeness, Completeness::complete) << "from the source itself";
  }
}

TEST(RoceReceiver, refuses_placements_outside_the_region) {
  ArrivalQueues queues(1, 16);
  Doorbell bell;
  auto dtp = small_dtp(1, 1, 4, 64, 2);
  std::vector<std::byte> region(end_of(dtp) - 1);
  EXPECT_THROW(RoceReceiver({}, region, {dtp}, queues, bell), ConfigError);
  region.resize(1 << 16);
  dtp.placement.records_offset = ~0ULL - 10;
  EXPECT_THROW(RoceReceiver({}, region, {dtp}, queues, bell), ConfigError);
  dtp = small_dtp(1, 1, 4, 64, 2);
  dtp.placement.pitch = 1ULL << 63;
  EXPECT_THROW(RoceReceiver({}, region, {dtp}, queues, bell), ConfigError);
  dtp = small_dtp(1, 1, 4, 64, 2);
  dtp.placement.pixels_offset = 1ULL << 63;
  EXPECT_THROW(RoceReceiver({}, region, {dtp}, queues, bell), ConfigError);
}

TEST(RoceSender, refuses_a_pmtu_that_does_not_exist) {
  SenderConfig config;
  config.destination = {"127.0.0.1", 4791, 17, 1, 0};
  config.options.pmtu = 1000;
  EXPECT_THROW(static_cast<void>(make_sender(config)), ConfigError);
  config.options.pmtu = 1024;
  config.destination.address = "detector.example";
  EXPECT_THROW(static_cast<void>(make_sender(config)), ConfigError);
}

}  // namespace
}  // namespace rashpa::link::roce
