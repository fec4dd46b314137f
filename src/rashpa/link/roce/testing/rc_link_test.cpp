// SPDX-License-Identifier: Apache-2.0
/// Reliable connections over loopback sockets: every byte arrives in spite of packet faults, and a run that cannot
/// deliver ends in a bounded time.
#include <gtest/gtest.h>
#include <poll.h>

#include <set>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/roce/testing/loopback_chain.hpp"

namespace rashpa::link::roce {
namespace {

using testing::Chain;
using testing::ChainConfig;
using testing::end_of;
using testing::have_ipv6;
using testing::small_dtp;

struct FaultCase {
  const char* name;
  FaultConfig faults;
  Packetisation packetisation = Packetisation::only;
  bool gso = true;
  bool v6 = false;
};

class RcFaults : public ::testing::TestWithParam<FaultCase> {};

TEST_P(RcFaults, every_byte_of_every_image_arrives) {
  const FaultCase& c = GetParam();
  if (c.v6 && !have_ipv6()) GTEST_SKIP() << "no IPv6 loopback here";
  ChainConfig setup;
  setup.address = c.v6 ? "::1" : "127.0.0.1";
  setup.options = {.transport = Transport::rc,
                   .pmtu = 256,
                   .packetisation = c.packetisation,
                   .gso = c.gso,
                   .gro = c.gso,
                   .window_bytes = 1 << 15};
  setup.faults = c.faults;
  setup.dtps = {small_dtp(1, 600, 12, 600, 8)};
  setup.dtps.push_back(small_dtp(2, 600, 3, 256, 6, 8, end_of(setup.dtps[0])));
  Chain chain(setup);
  chain.run();
  Counts sent;
  FaultCounts injected;
  for (std::uint32_t d = 0; d < 2; ++d) {
    ASSERT_EQ(chain.arrivals[d].size(), setup.dtps[d].images);
    for (const Arrival& arrival : chain.arrivals[d]) {
      ASSERT_EQ(arrival.completeness, Completeness::complete) << d << " " << arrival.index;
      ASSERT_EQ(chain.senders[d]->fates()->fate(arrival.index), Completeness::complete) << d << " " << arrival.index;
    }
    const Counts stats = chain.senders[d]->stats();
    EXPECT_EQ(stats["connection_errors"] + stats["send_errors"], 0U);
    EXPECT_GT(stats["acks"], 0U);
    EXPECT_EQ(stats["payload_bytes"],
              setup.dtps[d].images * (setup.dtps[d].placement.payload_bytes() + FrameRecord::kBytes));
    sent.add("retransmitted_packets", stats["retransmitted_packets"]);
    sent.add("naks", stats["naks"]);
    const FaultCounts one = chain.senders[d]->injected();
    injected.drop += one.drop;
    injected.duplicate += one.duplicate;
    injected.reorder += one.reorder;
    injected.corrupt += one.corrupt;
  }
  EXPECT_EQ(injected.drop > 0, c.faults.drop > 0);
  EXPECT_EQ(injected.duplicate > 0, c.faults.duplicate > 0);
  EXPECT_EQ(injected.reorder > 0, c.faults.reorder > 0);
  EXPECT_EQ(injected.corrupt > 0, c.faults.corrupt > 0);
  const Counts stats = chain.receiver->stats();
  EXPECT_EQ(stats["icrc_bad"], injected.corrupt);
  EXPECT_EQ(stats["crc_mismatches"] + stats["malformed"] + stats["refused_key"] + stats["bad_records"] +
                stats["late_packets"],
            0U);
  EXPECT_EQ(stats["events"], 1200U);
  if (c.faults.drop + c.faults.corrupt + c.faults.reorder == 0) {  // else some come ahead of a gap, twice
    EXPECT_GE(stats["duplicate_packets"], injected.duplicate);
    EXPECT_LE(stats["duplicate_packets"], injected.duplicate + sent["retransmitted_packets"]) << "repeated when late";
  }
  if (c.faults.drop + c.faults.corrupt > 0) {
    EXPECT_GE(sent["retransmitted_packets"], injected.drop + injected.corrupt);
    EXPECT_GT(sent["naks"], 0U);
    EXPECT_GE(stats["naks"], sent["naks"]);
  }
  EXPECT_EQ(chain.closes, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RcFaults,
    ::testing::Values(FaultCase{"drop", {11, 0.01, 0, 0, 0}}, FaultCase{"duplicate", {12, 0, 0.02, 0, 0}},
                      FaultCase{"reorder", {13, 0, 0, 0.02, 0}}, FaultCase{"corrupt", {14, 0, 0, 0, 0.01}},
                      FaultCase{"mixed", {15, 0.005, 0.005, 0.01, 0.005}},
                      FaultCase{"mixed_often", {16, 0.03, 0.03, 0.03, 0.03}},
                      FaultCase{"mixed_no_offload", {17, 0.01, 0.01, 0.01, 0.01}, Packetisation::only, false},
                      FaultCase{"mixed_v6", {18, 0.01, 0.01, 0.01, 0.01}, Packetisation::only, true, true},
                      FaultCase{"fml_drop", {21, 0.01, 0, 0, 0}, Packetisation::first_middle_last},
                      FaultCase{"fml_mixed_often", {25, 0.03, 0.03, 0.03, 0.03}, Packetisation::first_middle_last}),
    [](const auto& param) { return param.param.name; });

TEST(RcLink, sequence_numbers_wrap_in_the_middle_of_messages) {
  ChainConfig setup;
  setup.options = {.transport = Transport::rc,
                   .pmtu = 256,
                   .packetisation = Packetisation::first_middle_last,
                   .window_bytes = 1 << 16};
  setup.faults = FaultConfig{.seed = 3, .drop = 0.01};
  setup.first_psn = 0x1000000 - 500;
  setup.dtps = {small_dtp(1, 50, 12, 600, 8)};
  Chain chain(setup);
  chain.run();
  ASSERT_EQ(chain.arrivals[0].size(), 50U);
  for (const Arrival& arrival : chain.arrivals[0]) EXPECT_EQ(arrival.completeness, Completeness::complete);
  EXPECT_GT(chain.senders[0]->stats()["packets"], 1000U);
}

TEST(RcLink, both_ways_begin_anywhere_and_elsewhere_in_each_run) {
  std::set<std::uint32_t> seen;
  for (int run = 0; run < 4; ++run) {
    ChainConfig setup;
    setup.options = {.transport = Transport::rc};
    setup.dtps = {small_dtp(1, 20, 12, 600, 8)};
    Chain chain(setup);
    seen.insert(chain.senders[0]->endpoint().psn);
    seen.insert(chain.receiver->endpoints()[0].psn);
    chain.run();
    ASSERT_EQ(chain.arrivals[0].size(), 20U) << "more than the slots: credits came";
    EXPECT_EQ(chain.senders[0]->stats()["connection_errors"], 0U);
  }
  EXPECT_GT(seen.size(), 6U) << "8 of 16 million";
}

/// A peer that the test plays.
class Peer {
 public:
  Peer() : socket(false) { socket.bind(wire::Address("127.0.0.1", 0)); }
  [[nodiscard]] Endpoint endpoint() const { return {"127.0.0.1", socket.local().port(), 20, 1, 0}; }
  void answer(const Endpoint& source, const Acknowledgement& acknowledgement) const {
    AcknowledgementWriter writer(socket.local(), wire::Address(source.address, source.port), source.qpn);
    const auto packet = writer.packet(acknowledgement);
    ASSERT_EQ(sendto(socket.fd(), packet.data(), packet.size(), 0, writer.to().get(), writer.to().bytes()),
              static_cast<ssize_t>(packet.size()));
  }
  /// Sequence numbers of all packets that have come.
  [[nodiscard]] std::vector<std::uint32_t> packets() const {
    std::vector<std::uint32_t> psns;
    std::array<std::byte, 8192> bytes{};
    while (recv(socket.fd(), bytes.data(), bytes.size(), 0) > 0) psns.push_back(wire::load_bth(bytes.data()).psn);
    return psns;
  }
  UdpSocket socket;
};

SenderConfig to(const Peer& peer) {
  SenderConfig config;
  config.destination = peer.endpoint();
  config.options = {.transport = Transport::rc, .pmtu = 1024, .gso = false};
  config.flow = Flow::paced;
  config.timers.timeout = 31;  // never in these tests
  config.first_psn = 0;
  return config;
}

TEST(RcSender, memory_is_not_reported_done_before_it_is_acknowledged) {
  const Peer peer;
  const auto sender_owner = make_sender(to(peer));
  RoceSender& sender = *sender_owner;
  const std::vector<std::byte> pixels(1024, std::byte{1});
  const std::vector<BufferDescriptor> writes(3, {pixels.data(), 0, 1024});
  ASSERT_EQ(sender.post(writes), 3U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(sender.poll(200), 0U);
  EXPECT_EQ(sender.pending(), 3U);
  EXPECT_EQ(peer.packets(), (std::vector<std::uint32_t>{0, 1, 2}));
  peer.answer(sender.endpoint(), {.psn = 1});
  std::size_t done = 0;
  for (int i = 0; i < 1000 && done < 2; ++i) done += sender.poll(1000);
  EXPECT_EQ(done, 2U);
  EXPECT_EQ(sender.pending(), 1U);
  EXPECT_EQ(sender.poll(200), 0U);
  EXPECT_TRUE(sender.payload_crc32c().has_value()) << "it was made on the way out";
}

TEST(RcSender, a_nak_brings_the_rest_again_and_the_checksum_of_the_payload_stays) {
  const Peer peer;
  const auto sender_owner = make_sender(to(peer));
  RoceSender& sender = *sender_owner;
  std::vector<std::byte> pixels(4096);
  link::testing::fill(pixels, 9);
  std::vector<BufferDescriptor> writes;
  for (std::uint32_t i = 0; i < 4; ++i)
    writes.push_back({pixels.data() + std::size_t{i} * 1024, std::uint64_t{i} * 1024, 1024});
  ASSERT_EQ(sender.post(std::span(writes).first(3)), 3U);
  sender.poll(200);
  peer.answer(sender.endpoint(), {.psn = 1, .syndrome = 0x60});
  std::vector<std::uint32_t> got;
  for (int i = 0; i < 1000 && got.size() < 5; ++i) {
    sender.poll(1000);
    const auto more = peer.packets();
    got.insert(got.end(), more.begin(), more.end());
  }
  EXPECT_EQ(got, (std::vector<std::uint32_t>{0, 1, 2, 1, 2}));
  ASSERT_EQ(sender.post(std::span(writes).last(1)), 1U);
  EXPECT_EQ(sender.payload_crc32c(), crc32c(pixels));
  EXPECT_EQ(sender.stats()["retransmitted_packets"], 2U);
}

TEST(RcSender, a_repeat_that_was_dropped_whole_holds_no_memory_once_all_is_acknowledged) {
  const Peer peer;
  SenderConfig config = to(peer);
  config.images = 1;
  config.payload_bytes = 1024;
  FaultConfig& faults = config.faults.emplace();
  faults.drop = 0.5;
  const auto first_leaves_and_second_is_dropped = [&] {
    FaultDice dice(faults, config.dtp);
    return dice.draw() == Fault::none && dice.draw() == Fault::drop;
  };
  while (!first_leaves_and_second_is_dropped()) ++faults.seed;
  const auto sender_owner = make_sender(config);
  RoceSender& sender = *sender_owner;
  const std::vector<std::byte> pixels(1024, std::byte{1});
  const BufferDescriptor write{pixels.data(), 0, 1024};
  ASSERT_EQ(sender.post({&write, 1}), 1U);
  EXPECT_EQ(sender.poll(200), 0U);
  EXPECT_EQ(peer.packets(), std::vector<std::uint32_t>{0});
  peer.answer(sender.endpoint(), {.psn = 0, .syndrome = 0x60});
  for (int i = 0; i < 1000 && sender.stats()["retransmitted_packets"] == 0; ++i) sender.poll(1000);
  ASSERT_EQ(sender.injected().drop, 1U);
  peer.answer(sender.endpoint(), {.psn = 0});  // it had come after all
  std::size_t done = 0;
  for (int i = 0; i < 1000 && done == 0; ++i) done += sender.poll(1000);
  EXPECT_EQ(done, 1U);
  EXPECT_TRUE(peer.packets().empty());
}

TEST(RcSender, a_peer_that_says_nothing_ends_the_connection_in_a_bounded_time) {
  const Peer peer;
  SenderConfig config = to(peer);
  config.flow = Flow::credits;
  config.timers = {.timeout = 4, .retries = 3, .rnr_retries = 7};  // 66 µs, then 131, 262, 524
  const auto sender_owner = make_sender(config);
  RoceSender& sender = *sender_owner;
  EXPECT_EQ(sender.granted(), 0U);
  const std::vector<std::byte> pixels(1024, std::byte{1});
  const std::vector<BufferDescriptor> writes(5, {pixels.data(), 0, 1024});
  std::size_t taken = sender.post(writes);
  std::size_t done = 0;
  const std::int64_t start = now_ns();
  while (sender.stats()["connection_errors"] == 0 && now_ns() - start < 10'000'000'000) done += sender.poll(100);
  ASSERT_EQ(sender.stats()["connection_errors"], 1U);
  EXPECT_EQ(sender.stats()["retransmission_timeouts"], 4U);
  EXPECT_EQ(sender.granted(), kUnlimited) << "the source comes to its end";
  const std::array<std::byte, FrameRecord::kBytes> record{};
  for (int i = 0; i < 3; ++i) {
    taken += sender.post(writes);
    EXPECT_TRUE(sender.post_event({record.data(), 0, 0}));
    EXPECT_TRUE(sender.payload_crc32c().has_value());
  }
  for (int i = 0; i < 5; ++i) done += sender.poll(0);
  EXPECT_EQ(taken, 20U);
  EXPECT_EQ(done, 20U);
  EXPECT_EQ(sender.pending(), 0U);
  EXPECT_EQ(sender.stats()["send_errors"], 23U) << "five packets that nobody answered, 15 writes and three events";
}

TEST(RcLink, a_wrong_key_is_refused_at_once_and_counted_on_both_sides) {
  const auto dtp = small_dtp(1, 10, 4, 1024, 4);
  std::vector<std::byte> region(end_of(dtp));
  ArrivalQueues queues(1, 16);
  Doorbell bell;
  ReceiverConfig config;
  config.options = {.transport = Transport::rc, .pmtu = 1024};
  RoceReceiver receiver(config, region, {dtp}, queues, bell);
  SenderConfig source;
  source.destination = receiver.endpoints()[0];
  source.destination.rkey ^= 1U;
  source.options = config.options;
  const auto sender_owner = make_sender(source);
  RoceSender& sender = *sender_owner;
  const Endpoint self = sender.endpoint();
  receiver.connect(std::span(&self, 1));
  receiver.start();
  testing::Source images(dtp, sender);
  const auto give_up = [] { return false; };
  for (std::uint64_t k = 0; k < 10; ++k) images.send(k, give_up);
  images.drain(give_up);
  receiver.stop();
  EXPECT_EQ(sender.stats()["connection_errors"], 1U);
  EXPECT_EQ(sender.stats()["naks"], 1U);
  EXPECT_EQ(receiver.stats()["refused_key"], 1U);
  EXPECT_EQ(receiver.stats()["events"], 0U);
}

TEST(RcLink, a_paced_source_that_is_too_fast_is_told_that_the_receiver_is_not_ready) {
  constexpr std::uint64_t kImages = 12;
  const auto dtp = small_dtp(1, kImages, 2, 256, 2);
  std::vector<std::byte> region(end_of(dtp));
  ArrivalQueues queues(1, 64);
  Doorbell bell;
  ReceiverConfig config;
  config.options = {.transport = Transport::rc, .pmtu = 256};
  config.flow = Flow::paced;
  RoceReceiver receiver(config, region, {dtp}, queues, bell);
  SenderConfig source;
  source.destination = receiver.endpoints()[0];
  source.options = config.options;
  source.flow = Flow::paced;
  const auto sender_owner = make_sender(source);
  RoceSender& sender = *sender_owner;
  const Endpoint self = sender.endpoint();
  receiver.connect(std::span(&self, 1));
  receiver.start();
  std::atomic<bool> stop{false};
  std::atomic<bool> sent{false};
  std::jthread thread([&] {
    testing::Source images(dtp, sender);
    const auto give_up = [&] { return stop.load(); };
    for (std::uint64_t k = 0; k < kImages && images.send(k, give_up); ++k) {
    }
    images.drain(give_up);
    sent = true;
  });
  const std::int64_t start = now_ns();
  const auto in_time = [&] { return now_ns() - start < 20'000'000'000; };
  EXPECT_EVENTUALLY(sender.stats()["rnr_naks"] >= 3) << "twice two slots are posted";
  EXPECT_EQ(receiver.stats()["events"], 2U);
  EXPECT_EQ(receiver.stats()["overrun_packets"], 3U * 2U + 2U) << "lines of images 2, 3, 4, events of 2 and 3";
  std::uint64_t arrived = 0;
  Arrival arrival;
  while (arrived < kImages && in_time()) {
    if (queues.try_pop(arrival)) receiver.release(0, ++arrived);
    if (sent) receiver.close(0, kImages);  // lines of the last one may have found its slot taken
  }
  stop = !in_time();
  thread.join();
  receiver.stop();
  EXPECT_EQ(arrived, kImages);
  EXPECT_EQ(sender.stats()["connection_errors"], 0U);
  EXPECT_GE(receiver.stats()["rnr_naks"], sender.stats()["rnr_naks"]);
  EXPECT_EQ(sender.pending(), 0U);
}

TEST(RcLink, a_receiver_that_goes_away_ends_the_run_of_its_source) {
  const auto dtp = small_dtp(1, 1000, 4, 1024, 4);
  std::vector<std::byte> region(end_of(dtp));
  ArrivalQueues queues(1, 2048);
  Doorbell bell;
  ReceiverConfig config;
  config.options = {.transport = Transport::rc, .pmtu = 1024};
  auto receiver = std::make_unique<RoceReceiver>(config, region, std::vector{dtp}, queues, bell);
  SenderConfig source;
  source.destination = receiver->endpoints()[0];
  source.options = config.options;
  source.timers.timeout = 6;
  const auto sender_owner = make_sender(source);
  RoceSender& sender = *sender_owner;
  const Endpoint self = sender.endpoint();
  receiver->connect(std::span(&self, 1));
  receiver->start();
  testing::Source images(dtp, sender);
  const auto give_up = [] { return false; };
  for (std::uint64_t k = 0; k < 4; ++k) ASSERT_TRUE(images.send(k, give_up));
  receiver->release(0, 1);
  while (sender.granted() < 5) sender.poll(500);
  receiver.reset();
  const std::int64_t start = now_ns();
  for (std::uint64_t k = 4; k < 1000; ++k) ASSERT_TRUE(images.send(k, give_up));
  images.drain(give_up);
  EXPECT_LT(now_ns() - start, 5'000'000'000);
  EXPECT_EQ(sender.stats()["connection_errors"], 1U);
  EXPECT_GT(sender.stats()["send_errors"], 4 * 995U);
}

}  // namespace
}  // namespace rashpa::link::roce
