/// Sender → receiver over loopback sockets.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/testing.hpp"

namespace rashpa::link::roce {
namespace {

using testing::end_of;
using testing::small_dtp;
using testing::Source;

/// One receiver with its sources, all in this process; the test is the scheduler.
struct ChainConfig {
  std::string address = "127.0.0.1";
  Options options{};
  Flow flow = Flow::credits;
  std::vector<DestinationDtp> dtps;
  std::optional<FaultConfig> faults{};
  std::uint32_t threads = 1;
  Poll poll = Poll::event;
};

class Chain {
 public:
  explicit Chain(const ChainConfig& setup) : setup_(setup) {
    std::uint64_t bytes = 0;
    for (const auto& dtp : setup.dtps) bytes = std::max(bytes, end_of(dtp));
    region_.resize(bytes);
    std::vector<ArrivalRing*> rings;
    for (std::uint32_t t = 0; t < setup.threads; ++t) {
      rings_.push_back(std::make_unique<ArrivalRing>(1024));
      rings.push_back(rings_.back().get());
    }
    ReceiverConfig config;
    config.bind_address = setup.address;
    config.threads = setup.threads;
    config.options = setup.options;
    config.flow = setup.flow;
    config.poll = setup.poll;
    receiver = std::make_unique<RoceReceiver>(config, region_, setup.dtps, rings, bell_);
    const auto endpoints = receiver->endpoints();
    std::vector<Endpoint> sources;
    for (std::size_t d = 0; d < setup.dtps.size(); ++d) {
      SenderConfig source;
      source.bind_address = setup.address;
      source.destination = endpoints[d];
      if (source.destination.address == "0.0.0.0") source.destination.address = "127.0.0.1";
      source.options = setup.options;
      source.flow = setup.flow;
      source.dtp = setup.dtps[d].id;
      source.images = setup.dtps[d].images;
      source.payload_bytes = setup.dtps[d].placement.payload_bytes();
      source.faults = setup.faults;
      senders.push_back(std::make_unique<RoceSender>(source));
      sources.push_back(senders.back()->endpoint());
    }
    receiver->connect(sources);
  }

  /// Sends all images of all DTPs, takes all arrivals, closes what stays undecided when the sources are done and quiet.
  void run() {
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> running{setup_.dtps.size()};
    receiver->start();
    std::vector<std::jthread> threads;
    for (std::size_t d = 0; d < setup_.dtps.size(); ++d) {
      threads.emplace_back([&, d] {
        Source source(setup_.dtps[d], *senders[d]);
        const auto give_up = [&] { return stop.load(); };
        for (std::uint64_t k = 0; k < setup_.dtps[d].images && source.send(k, give_up); ++k) {
        }
        source.drain(give_up);
        --running;
      });
    }
    collect(running);
    stop = true;
    threads.clear();
    receiver->stop();
  }

  void take(const Arrival& arrival) {
    auto& list = arrivals[arrival.dtp];
    EXPECT_EQ(arrival.index, list.size()) << "in order, no gaps";
    if (arrival.completeness == Completeness::complete) check_pixels(arrival);
    if (arrival.map != nullptr) {
      EXPECT_EQ(arrival.map->lines_missing(), arrival.lines_missing);
      EXPECT_FALSE(arrival.map->full());
    }
    list.push_back(arrival);
    receiver->release(arrival.dtp, arrival.index + 1);
  }

  ChainConfig setup_;
  std::vector<std::byte> region_;
  std::vector<std::unique_ptr<ArrivalRing>> rings_;
  Doorbell bell_;
  std::unique_ptr<RoceReceiver> receiver;
  std::vector<std::unique_ptr<RoceSender>> senders;
  std::map<std::uint32_t, std::vector<Arrival>> arrivals;

 private:
  void collect(const std::atomic<std::size_t>& running) {
    std::uint64_t expected = 0;
    for (const auto& dtp : setup_.dtps) expected += dtp.images;
    std::uint64_t taken = 0;
    const std::int64_t start = now_ns();
    std::int64_t news = start;
    while (taken < expected) {
      const auto seen = bell_.count();
      Arrival arrival;
      for (auto& ring : rings_) {
        while (ring->try_pop(arrival)) {
          take(arrival);
          ++taken;
          news = now_ns();
        }
      }
      // The scheduler's deadline: the sources have sent everything and nothing more comes.
      if (running != 0) {
        news = now_ns();
      } else if (now_ns() - news > 200'000'000) {
        for (std::uint32_t d = 0; d < setup_.dtps.size(); ++d) receiver->close(d, setup_.dtps[d].images);
        ++closes;
        news = now_ns();
      }
      ASSERT_LT(now_ns() - start, 100'000'000'000) << taken << " of " << expected;
      bell_.wait(seen, std::chrono::milliseconds(2));
    }
  }
  void check_pixels(const Arrival& arrival) {
    const DestinationDtp& dtp = setup_.dtps[arrival.dtp];
    const Placement& p = dtp.placement;
    std::uint32_t crc = 0;
    for (std::uint32_t line = 0; line < p.lines; ++line) {
      crc = crc32c({region_.data() + p.image_offset(arrival.index) + line * p.pitch, p.line_bytes}, crc);
    }
    EXPECT_EQ(crc, arrival.record.payload_crc32c);
    EXPECT_EQ(arrival.record.frame_number, dtp.slice.frame(arrival.index));
    EXPECT_EQ(arrival.proof, Proof::crc);
  }

 public:
  int closes = 0;
};

bool have_ipv6() {
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  if (fd < 0) return false;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool ok = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return ok;
}

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
};

class RoceLink : public ::testing::TestWithParam<Case> {};

TEST_P(RoceLink, carries_every_byte_of_every_image) {
  const Case& c = GetParam();
  if (c.v6 && !have_ipv6()) GTEST_SKIP() << "no IPv6 loopback here";
  ChainConfig setup;
  setup.address = c.v6 ? "::1" : c.wildcard ? "0.0.0.0" : "127.0.0.1";
  setup.options = {
      .pmtu = c.pmtu, .packetisation = c.packetisation, .gso = c.gso, .gro = c.gro, .window_bytes = 1 << 18};
  setup.threads = c.threads;
  setup.dtps = {small_dtp(3, 60, 37, c.line_bytes, 4, c.gap)};
  setup.dtps.push_back(small_dtp(200, 40, 11, c.line_bytes, 5, c.gap, end_of(setup.dtps[0])));
  Chain chain(setup);
  chain.run();
  for (std::uint32_t d = 0; d < 2; ++d) {
    ASSERT_EQ(chain.arrivals[d].size(), setup.dtps[d].images);
    for (const Arrival& arrival : chain.arrivals[d]) EXPECT_EQ(arrival.completeness, Completeness::complete);
  }
  const ReceiverStats stats = chain.receiver->stats();
  EXPECT_EQ(stats.events, 100U);
  EXPECT_EQ(stats.icrc_bad + stats.malformed + stats.unknown_qp + stats.refused_key + stats.sequence_drops, 0U);
  EXPECT_EQ(stats.duplicate_packets + stats.late_packets + stats.overrun_packets + stats.bad_records, 0U);
  EXPECT_EQ(stats.icrc_exact + stats.icrc_modulo_id, stats.packets);
  if (c.gro || !c.gso || c.v6) {
    EXPECT_EQ(stats.icrc_modulo_id, 0U);
  }
  EXPECT_EQ(chain.closes, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Loopback, RoceLink,
    ::testing::Values(Case{"only4096"}, Case{"only1024", Packetisation::only, 1024, 1024},
                      Case{"only256_odd_lines", Packetisation::only, 256, 1030},
                      Case{"only4096_merged_short_lines", Packetisation::only, 4096, 514},
                      Case{"only4096_gaps", Packetisation::only, 4096, 1030, 16},
                      Case{"fml4096", Packetisation::first_middle_last},
                      Case{"fml1024_gaps", Packetisation::first_middle_last, 1024, 4100, 12},
                      Case{"fml256_odd", Packetisation::first_middle_last, 256, 1030},
                      Case{"only_v6", Packetisation::only, 4096, 4096, 0, true},
                      Case{"fml_v6_1024", Packetisation::first_middle_last, 1024, 2050, 0, true},
                      Case{"no_gso", Packetisation::only, 1024, 1024, 0, false, false, true},
                      Case{"no_gro", Packetisation::only, 1024, 1024, 0, false, true, false},
                      Case{"neither", Packetisation::first_middle_last, 1024, 4096, 0, false, false, false},
                      Case{"two_threads", Packetisation::only, 4096, 4096, 0, false, true, true, 2},
                      Case{"wildcard", Packetisation::only, 4096, 4096, 0, false, true, true, 1, true}),
    [](const auto& param) { return param.param.name; });

struct FaultCase {
  const char* name;
  FaultConfig faults;
  Packetisation packetisation = Packetisation::only;
  bool gso = true;
  bool v6 = false;
};

class RoceFaults : public ::testing::TestWithParam<FaultCase> {};

TEST_P(RoceFaults, arrivals_equal_the_log_of_the_injector) {
  const FaultCase& c = GetParam();
  if (c.v6 && !have_ipv6()) GTEST_SKIP() << "no IPv6 loopback here";
  ChainConfig setup;
  setup.address = c.v6 ? "::1" : "127.0.0.1";
  setup.options = {.pmtu = 256, .packetisation = c.packetisation, .gso = c.gso, .window_bytes = 1 << 17};
  setup.faults = c.faults;
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
  EXPECT_EQ(chain.receiver->stats().icrc_bad, injected.corrupt);
  EXPECT_EQ(chain.receiver->stats().crc_mismatches, 0U);
  if (c.faults.drop + c.faults.corrupt > 0) {
    EXPECT_GT(incomplete, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RoceFaults,
    ::testing::Values(FaultCase{"drop", {11, 0.01, 0, 0, 0}}, FaultCase{"duplicate", {12, 0, 0.02, 0, 0}},
                      FaultCase{"reorder", {13, 0, 0, 0.05, 0}}, FaultCase{"corrupt", {14, 0, 0, 0, 0.01}},
                      FaultCase{"mixed", {15, 0.005, 0.005, 0.02, 0.005}},
                      FaultCase{"mixed_often", {16, 0.1, 0.1, 0.1, 0.1}},
                      FaultCase{"mixed_no_gso", {17, 0.01, 0.01, 0.02, 0.01}, Packetisation::only, false},
                      FaultCase{"mixed_v6", {18, 0.01, 0.01, 0.02, 0.01}, Packetisation::only, true, true},
                      FaultCase{"fml_drop", {21, 0.01, 0, 0, 0}, Packetisation::first_middle_last},
                      FaultCase{"fml_duplicate", {22, 0, 0.02, 0, 0}, Packetisation::first_middle_last},
                      FaultCase{"fml_reorder", {23, 0, 0, 0.02, 0}, Packetisation::first_middle_last},
                      FaultCase{"fml_mixed", {24, 0.005, 0.005, 0.01, 0.005}, Packetisation::first_middle_last},
                      FaultCase{"fml_mixed_often", {25, 0.05, 0.05, 0.05, 0.05}, Packetisation::first_middle_last}),
    [](const auto& param) { return param.param.name; });

TEST(RoceReceiver, says_which_port_is_in_use) {
  ArrivalRing ring(16);
  Doorbell bell;
  const auto dtp = small_dtp(1, 1, 1, 64, 2);
  std::vector<std::byte> region(end_of(dtp));
  const RoceReceiver first({}, region, {dtp}, {&ring}, bell);
  ReceiverConfig config;
  config.port = first.endpoints()[0].port;
  try {
    const RoceReceiver second(config, region, {dtp}, {&ring}, bell);
    FAIL() << "the port is taken";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("127.0.0.1 port " + std::to_string(config.port)), std::string::npos)
        << error.what();
  }
}

TEST(RoceReceiver, refuses_placements_outside_the_region) {
  ArrivalRing ring(16);
  Doorbell bell;
  auto dtp = small_dtp(1, 1, 4, 64, 2);
  std::vector<std::byte> region(end_of(dtp) - 1);
  EXPECT_THROW(RoceReceiver({}, region, {dtp}, {&ring}, bell), ConfigError);
  region.resize(1 << 16);
  dtp.placement.records_offset = ~0ULL - 10;
  EXPECT_THROW(RoceReceiver({}, region, {dtp}, {&ring}, bell), ConfigError);
  dtp = small_dtp(1, 1, 4, 64, 2);
  dtp.placement.pitch = 1ULL << 63;
  EXPECT_THROW(RoceReceiver({}, region, {dtp}, {&ring}, bell), ConfigError);
  dtp = small_dtp(1, 1, 4, 64, 2);
  dtp.placement.pixels_offset = 1ULL << 63;
  EXPECT_THROW(RoceReceiver({}, region, {dtp}, {&ring}, bell), ConfigError);
}

TEST(RoceSender, refuses_a_pmtu_that_does_not_exist) {
  SenderConfig config;
  config.destination = {"127.0.0.1", 4791, 17, 1, 0};
  config.options.pmtu = 1000;
  EXPECT_THROW(RoceSender{config}, ConfigError);
  config.options.pmtu = 1024;
  config.destination.address = "detector.example";
  EXPECT_THROW(RoceSender{config}, ConfigError);
}

}  // namespace
}  // namespace rashpa::link::roce
