// SPDX-License-Identifier: Apache-2.0
// Whole acquisitions from RTL: a driver that opens a directory, the simulated card behind it, its packets in UDP
// sockets, a receiver in user space that grants credits.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "card_directory.hpp"
#include "network.hpp"
#include "rashpa/card/card.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/wire/address.hpp"
#include "simulated_card.hpp"
#include "udp_port.hpp"

namespace rashpa::sim {
namespace {

namespace fs = std::filesystem;
namespace registers = card::registers;
using link::fpga::CardDtp;
using link::fpga::CardPath;
using link::fpga::FrameRing;

constexpr std::uint64_t kMemory = 4 << 20;

/// A UDP port of `ip` that is free now.
std::uint16_t free_port(const std::string& ip) {
  wire::Address address(ip, 0);
  const int fd = socket(address.v6() ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
  EXPECT_EQ(bind(fd, address.get(), address.bytes()), 0);
  socklen_t bytes = sizeof(sockaddr_storage);
  EXPECT_EQ(getsockname(fd, address.get(), &bytes), 0);
  close(fd);
  return address.port();
}

/// A simulated card with a thread.
class CardAtWork {
 public:
  CardAtWork() {
    card_ = std::make_unique<SimulatedCard>(path(), kMemory, make_network("udp"));
    thread_ = std::thread([this] { card_->run(stop_); });
  }
  ~CardAtWork() {
    stop_ = true;
    thread_.join();
    card_.reset();
    EXPECT_TRUE(fs::is_empty(path())) << "its nodes are taken away";
  }
  CardAtWork(const CardAtWork&) = delete;
  CardAtWork& operator=(const CardAtWork&) = delete;
  [[nodiscard]] const fs::path& path() const { return folder_.path(); }
  /// Seconds of a processor that the thread has had.
  [[nodiscard]] double busy() {
    clockid_t clock{};
    pthread_getcpuclockid(thread_.native_handle(), &clock);
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

 private:
  const TemporaryFolder folder_;
  std::unique_ptr<SimulatedCard> card_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// A receiver and what the card must know of its DTPs.
class Acquisition {
 public:
  Acquisition(card::Card& card, const std::string& ip, std::vector<link::ReceiverDtp> dtps,
              const link::roce::Options& options, link::Flow flow)
      : card_(card), dtps_(std::move(dtps)), flow_(flow), queues_(dtps_.size(), 1024) {
    std::uint64_t bytes = 0;
    for (const auto& dtp : dtps_) bytes = std::max(bytes, link::testing::end_of(dtp));
    region_.resize(bytes);
    link::roce::ReceiverConfig config;
    config.bind_address = ip;
    config.options = options;
    config.flow = flow;
    receiver_ = std::make_unique<link::roce::RoceReceiver>(config, region_, dtps_, queues_, bell_);
    const auto endpoints = receiver_->endpoints();
    std::vector<link::Endpoint> sources;
    std::uint64_t at = 0;
    for (std::uint32_t d = 0; d < dtps_.size(); ++d) {
      registers::DtpTable table;
      const auto& dtp = dtps_[d];
      const std::uint32_t width = dtp.placement.line_bytes / 2;
      rings_.push_back({.address = at,
                        .stride = (128 + (width + 3) * 2ULL * dtp.placement.lines + 63) / 64 * 64,
                        .frames = 5,
                        .pitch_bytes = (width + 3) * 2ULL});
      at += rings_[d].stride * rings_[d].frames;
      set_transfer(table,
                   {.id = dtp.id,
                    .region = {1, 0, width, dtp.placement.lines},
                    .slice = dtp.slice,
                    .images = dtp.images,
                    .placement = dtp.placement,
                    .run = dtp.run},
                   rings_[d],
                   {.pmtu = options.pmtu,
                    .packetisation = options.packetisation,
                    .largest_message = options.pmtu * (options.packetisation == link::Packetisation::only ? 1 : 4)});
      const wire::Address here(ip, free_port(ip)), there(endpoints[d].address, endpoints[d].port);
      CardPath path{.source_ip = here.ip(),
                    .destination_ip = there.ip(),
                    .ipv6 = here.v6(),
                    .source_port = here.port(),
                    .destination_port = there.port(),
                    .qpn = endpoints[d].qpn,
                    .rkey = endpoints[d].rkey,
                    .first_psn = (0xFFFFFEU + d) & 0xFFFFFFU};
      set_path(table, path);
      // Of this run alone: credits of the one before may still be on their way.
      static std::uint32_t runs = 0;
      table.credit_qpn = 100 + 16 * ++runs + d;
      table.credit_key = 0x1234 * runs + d;
      table.credit_address = 16 * d;
      table.dtp_paced = flow == link::Flow::paced;
      card_.write_table(d, table);
      first_psn_.push_back(path.first_psn);
      sources.push_back({ip, here.port(), table.credit_qpn, table.credit_key, table.credit_address, 0});
      for (std::uint64_t f = 0; f < rings_[d].frames; ++f) frame(d, f);
      card_.write32(registers::doorbells::kGranted + 4 * d, 0);
      card_.write32(registers::doorbells::kFramesAvailable + 4 * d, 0);
    }
    for (std::uint32_t d = static_cast<std::uint32_t>(dtps_.size()); d < 16; ++d) card_.write_table(d, {});
    receiver_->connect(sources);
    receiver_->start();
  }
  ~Acquisition() { receiver_->stop(); }
  Acquisition(const Acquisition&) = delete;
  Acquisition& operator=(const Acquisition&) = delete;

  void start() {
    card_.carry_out(card::Command::arm, 20'000'000);
    for (std::uint32_t d = 0; d < dtps_.size(); ++d) {
      card_.write32(registers::doorbells::kFramesAvailable + 4 * d, 1U << 30U);
    }
    card_.carry_out(card::Command::start, 20'000'000);
  }
  /// Takes arrivals until all are there, or `idle_ms` after the last one and the card's end closes what is open.
  void collect(std::int64_t idle_ms = 500) {
    std::size_t expected = 0;
    for (const auto& dtp : dtps_) expected += dtp.images;
    const std::int64_t start = now_ns();
    std::int64_t news = start;
    while (arrivals.size() < expected && now_ns() - start < 20'000'000'000) {
      const auto seen = bell_.count();
      link::Arrival arrival;
      while (queues_.try_pop(arrival)) {
        if (arrival.completeness == Completeness::complete) check_pixels(arrival);
        arrivals.push_back(arrival);
        receiver_->release(arrival.dtp, arrival.index + 1);
        news = now_ns();
      }
      if (card_.state() != registers::State::running && now_ns() - news > idle_ms * 1'000'000) {
        for (std::uint32_t d = 0; d < dtps_.size(); ++d) receiver_->close(d, dtps_[d].images);
        news = now_ns();
      }
      bell_.wait(seen, std::chrono::milliseconds(2));
    }
    EXPECT_EQ(arrivals.size(), expected);
    // Images arrive before the card has said that they have left.
    while (card_.state() == registers::State::running && now_ns() - start < 20'000'000'000) card_.wait(10'000);
  }
  [[nodiscard]] std::size_t count(Completeness completeness) const {
    std::size_t n = 0;
    for (const auto& arrival : arrivals) n += arrival.completeness == completeness ? 1 : 0;
    return n;
  }
  [[nodiscard]] std::uint32_t first_psn(std::size_t dtp) const { return first_psn_[dtp]; }
  [[nodiscard]] link::roce::RoceReceiver& receiver() { return *receiver_; }

  std::vector<link::Arrival> arrivals;

 private:
  void frame(std::uint32_t d, std::uint64_t number) {
    const FrameRing& ring = rings_[d];
    std::vector<std::byte> bytes(ring.stride);
    link::testing::fill(bytes, static_cast<std::uint32_t>(100 * d + number));
    link::fpga::record_template(std::span<std::byte, FrameRecord::kBytes>(bytes.data(), FrameRecord::kBytes), number,
                                1000 + number, FrameRecord::laser);
    card_.to_card(ring.address + ring.stride * number, bytes);
  }
  void check_pixels(const link::Arrival& arrival) {
    const link::ReceiverDtp& dtp = dtps_[arrival.dtp];
    const Placement& p = dtp.placement;
    const FrameRing& ring = rings_[arrival.dtp];
    std::vector<std::byte> bytes(ring.stride);
    const std::uint64_t number = dtp.slice.frame(arrival.index) % ring.frames;
    card_.from_card(ring.address + ring.stride * number, bytes);
    bool same = true;
    for (std::uint32_t line = 0; line < p.lines; ++line) {
      same = same && std::memcmp(region_.data() + p.image_offset(arrival.index) + line * p.pitch,
                                 bytes.data() + FrameRing::kPixels + 2 + line * ring.pitch_bytes, p.line_bytes) == 0;
    }
    EXPECT_TRUE(same) << "DTP " << arrival.dtp << ", image " << arrival.index;
    EXPECT_EQ(arrival.record.frame_number, number);
    EXPECT_EQ(arrival.record.timestamp_ns, 1000 + number);
    EXPECT_EQ(arrival.record.flags,
              FrameRecord::laser | (arrival.index + 1 == dtp.images ? FrameRecord::last_of_run : 0U));
    EXPECT_EQ(arrival.proof, link::Proof::crc);
  }

  card::Card& card_;
  std::vector<link::ReceiverDtp> dtps_;
  link::Flow flow_;
  std::vector<std::byte> region_;
  link::ArrivalQueues queues_;
  Doorbell bell_;
  std::unique_ptr<link::roce::RoceReceiver> receiver_;
  std::vector<FrameRing> rings_;
  std::vector<std::uint32_t> first_psn_;
};

/// The receiver counts frame numbers of templates: they are those of the ring, so images are no more than frames.
link::ReceiverDtp dtp(std::uint32_t id, std::uint64_t images, std::uint32_t lines, std::uint32_t line_bytes,
                      std::uint32_t slots, std::uint32_t gap, std::uint64_t base) {
  auto made = link::testing::small_dtp(id, images, lines, line_bytes, slots, gap, base);
  made.slice = {1, 0};
  return made;
}

class CardAcquisition : public testing::TestWithParam<std::tuple<const char*, link::Packetisation>> {
 protected:
  static void SetUpTestSuite() { simulated = std::make_unique<CardAtWork>(); }
  static void TearDownTestSuite() { simulated.reset(); }
  static inline std::unique_ptr<CardAtWork> simulated;
};

TEST_P(CardAcquisition, every_image_is_complete_and_its_pixels_are_those_of_card_memory) {
  const auto [ip, packetisation] = GetParam();
  card::Card card(simulated->path());
  link::roce::Options options{.pmtu = 1024, .packetisation = packetisation};
  const auto first = dtp(3, 5, 30, 2 * 600, 2, 34, 0);
  const auto second = dtp(200, 4, 7, 2 * 31, 3, 0, link::testing::end_of(first));
  Acquisition run(card, ip, {first, second}, options, link::Flow::credits);
  run.start();
  run.collect();
  for (const auto& arrival : run.arrivals) {
    EXPECT_EQ(arrival.completeness, Completeness::complete)
        << "DTP " << arrival.dtp << ", image " << arrival.index << ": loss " << static_cast<int>(arrival.loss) << ", "
        << arrival.lines_missing << " lines";
  }
  EXPECT_EQ(run.count(Completeness::complete), 9U);
  EXPECT_EQ(card.state(), registers::State::done);
  EXPECT_EQ(card.read64(registers::counters::kImages), 9U);
  EXPECT_EQ(card.read64(registers::counters::kLines), 5U * 30 + 4 * 7);
  EXPECT_GT(card.read64(registers::counters::kCredits), 0U) << "the rings are shorter than the runs";
  EXPECT_EQ(card.read64(registers::counters::kIcrcBad), 0U);
}

INSTANTIATE_TEST_SUITE_P(Ways, CardAcquisition,
                         testing::Combine(testing::Values("127.0.0.1", "::1"),
                                          testing::Values(link::Packetisation::only,
                                                          link::Packetisation::first_middle_last)));

TEST_F(CardAcquisition, a_packet_that_the_card_drops_is_a_partial_image_and_a_flipped_bit_is_found) {
  card::Card card(simulated->path());
  Acquisition run(card, "127.0.0.1", {dtp(9, 4, 20, 2 * 500, 4, 0, 0)}, {.pmtu = 1024}, link::Flow::paced);
  // A line is a packet; 21 packets an image.
  const auto fault = [&](std::size_t place, std::uint32_t packet, std::uint32_t kind, std::uint32_t bit) {
    card.write32(registers::faults::at(place),
                 registers::faults::kPacketPsn.put((run.first_psn(0) + packet) & 0xFFFFFFU));
    card.write32(registers::faults::at(place) + registers::faults::kWhat,
                 registers::faults::kWhatKind.put(kind) | registers::faults::kWhatBitNumber.put(bit));
  };
  fault(0, 5, 1, 0);             // line 5 of image 0
  fault(1, 21 + 20, 1, 0);       // the event of image 1
  fault(2, 42 + 3, 2, 8 * 500);  // a bit of line 3 of image 2
  run.start();
  run.collect();
  ASSERT_EQ(run.arrivals.size(), 4U);
  EXPECT_EQ(run.arrivals[0].completeness, Completeness::partial);
  EXPECT_EQ(run.arrivals[0].lines_missing, 1U);
  EXPECT_EQ(run.arrivals[1].completeness, Completeness::missing);
  EXPECT_EQ(run.arrivals[2].completeness, Completeness::partial);
  EXPECT_EQ(run.arrivals[3].completeness, Completeness::complete);
  EXPECT_EQ(card.read64(registers::counters::kFaults), 3U);
  for (std::size_t place = 0; place < 3; ++place)
    card.write32(registers::faults::at(place) + registers::faults::kWhat, 0);
}

TEST_F(CardAcquisition, after_abort_the_next_run_is_whole) {
  card::Card card(simulated->path());
  for (int round = 0; round < 3; ++round) {
    {
      Acquisition run(card, "127.0.0.1", {dtp(1, 5, 200, 2 * 900, 5, 0, 0)}, {.pmtu = 2048}, link::Flow::paced);
      run.start();
      card.carry_out(card::Command::abort, 20'000'000);
      EXPECT_EQ(card.state(), registers::State::idle);
    }
    Acquisition run(card, "127.0.0.1", {dtp(1, 5, 12, 2 * 900, 5, 0, 0)}, {.pmtu = 2048}, link::Flow::paced);
    run.start();
    run.collect();
    EXPECT_EQ(run.count(Completeness::complete), 5U) << "round " << round;
  }
}

TEST_F(CardAcquisition, a_table_that_cannot_work_is_refused_in_words) {
  card::Card card(simulated->path());
  Acquisition run(card, "127.0.0.1", {dtp(1, 5, 20, 200, 5, 0, 0)}, {.pmtu = 2048}, link::Flow::paced);
  registers::DtpTable table;
  table.dtp_enabled = true;
  table.mtu_path_mtu = 1000;
  card.write_table(0, table);
  EXPECT_THROW(run.start(), StateError);
}

TEST_F(CardAcquisition, a_directory_belongs_to_one_card) {
  EXPECT_THROW(CardDirectory(simulated->path(), kMemory), StateError);
}

TEST_F(CardAcquisition, a_card_without_work_sleeps_and_answers_soon) {
  card::Card card(simulated->path());
  EXPECT_EQ(card.memory_bytes(), kMemory) << "what its directory has";
  card.carry_out(card::Command::abort, 20'000'000);
  const double before = simulated->busy();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // wait: what it takes at rest is measured
  EXPECT_LT(simulated->busy() - before, 0.1) << "of 0.3 s";
  const std::int64_t start = now_ns();
  card.carry_out(card::Command::abort, 20'000'000);
  EXPECT_LT(now_ns() - start, 1'000'000'000) << "2 ms where nobody else is at work";
}

/// A DTP that sends from this port of 127.0.0.1.
registers::DtpTable from_port(std::uint16_t port) {
  registers::DtpTable table;
  table.dtp_enabled = true;
  const in_addr loopback{htonl(INADDR_LOOPBACK)};
  std::memcpy(table.ip_source.data(), &loopback, sizeof loopback);
  table.ports_source_port = port;
  return table;
}

bool is_free(std::uint16_t port) {
  const wire::Address address("127.0.0.1", port);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const bool bound = bind(fd, address.get(), address.bytes()) == 0;
  close(fd);
  return bound;
}

TEST(Networks, sockets_of_an_earlier_run_are_closed_at_arm) {
  UdpPort port;
  const std::uint16_t first = free_port("127.0.0.1");
  port.listen(std::vector{from_port(first)});
  const std::uint16_t second = free_port("127.0.0.1"), third = free_port("127.0.0.1");
  port.listen(std::vector{from_port(first), from_port(second)});
  EXPECT_FALSE(is_free(first));
  EXPECT_FALSE(is_free(second));
  port.listen(std::vector{from_port(second), from_port(third), from_port(third)});
  EXPECT_TRUE(is_free(first));
  EXPECT_FALSE(is_free(second));
  EXPECT_FALSE(is_free(third));
  port.wait(1);
  port.listen({});
  EXPECT_TRUE(is_free(second));
  EXPECT_TRUE(is_free(third));
}

TEST(Networks, those_that_there_are_and_no_other) {
  EXPECT_NE(make_network("udp"), nullptr);
  EXPECT_THROW(make_network("tcp"), ConfigError);
  EXPECT_THROW(make_network("unix:/tmp/one"), ConfigError);
  EXPECT_THROW(make_network("unix:" + std::string(200, 'x') + ",/tmp/there"), ConfigError);
  EXPECT_THROW(make_network("unix:/nowhere/here,/tmp/there"), ResourceError);
}

TEST(Directories, memory_beyond_the_addresses_of_the_card_is_refused) {
  const TemporaryFolder folder;
  EXPECT_THROW(SimulatedCard(folder.path(), (1ULL << 30) + 4096, make_network("udp")), ConfigError);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace rashpa::sim
