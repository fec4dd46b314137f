// SPDX-License-Identifier: Apache-2.0
/// The contract of links on a card into which software pushes descriptors: simulated, towards a receiver in user space.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/card/card.hpp"
#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/link/fpga/descriptor_ring.hpp"
#include "rashpa/link/fpga/sender.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/testing/link_contract.hpp"
#include "rashpa/wire/headers.hpp"
#include "testing.hpp"

namespace rashpa::link {
namespace {

using fpga::DescriptorRing;
using fpga::FpgaSender;
using sim::testing::SimulatedCard;

/// PSNs of the frames that left, by queue pair.
class Psns {
 public:
  void operator()(std::span<const std::byte> frame) {
    const std::scoped_lock lock(mutex_);
    const std::size_t bth = wire::load_be<std::uint16_t>(frame.data() + 12) == 0x0800 ? 42 : 62;
    const auto word = [&](std::size_t at) { return wire::load_be<std::uint32_t>(frame.data() + bth + at) & 0xFFFFFFU; };
    by_pair_[word(4)].push_back(word(8));
  }
  /// Once there are `count`: a packet arrives before it is seen here.
  std::vector<std::uint32_t> of(std::uint32_t pair, std::size_t count) {
    EXPECT_EVENTUALLY(seen(pair).size() >= count);
    return seen(pair);
  }

 private:
  std::vector<std::uint32_t> seen(std::uint32_t pair) {
    const std::scoped_lock lock(mutex_);
    return by_pair_[pair];
  }
  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_pair_;
};

Psns psns;

/// The card of all tests, as long as one of them needs it.
class Cards : public ::testing::Environment {
 public:
  void TearDown() override { card_.reset(); }
  static const std::filesystem::path& path() {
    if (card_ == nullptr) {
      card_ = std::make_unique<SimulatedCard>([](std::span<const std::byte> frame) { psns(frame); });
    }
    return card_->path();
  }

 private:
  static inline std::unique_ptr<SimulatedCard> card_;
};
const auto* const kCards = ::testing::AddGlobalTestEnvironment(new Cards);

struct Way {
  std::string address = "127.0.0.1";
  Packetisation packetisation = Packetisation::only;
  Flow flow = Flow::credits;
  std::uint32_t pmtu = 1024;
  std::optional<FaultConfig> faults{};
};

fpga::SenderConfig sender_config(const Way& way, std::shared_ptr<DescriptorRing> ring, const Endpoint& destination,
                                 std::uint32_t id, std::uint64_t images = 0, std::uint64_t payload_bytes = 0) {
  return {.card = std::move(ring),
          .destination = destination,
          .options = {.pmtu = way.pmtu, .packetisation = way.packetisation},
          .address = way.address,
          .flow = way.flow,
          .dtp = id,
          .images = images,
          .payload_bytes = payload_bytes,
          .faults = way.faults};
}

Pair make_pair(const Way& way, std::span<std::byte> region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
               Doorbell& bell, const std::filesystem::path& card = Cards::path()) {
  roce::ReceiverConfig config;
  config.bind_address = way.address;
  config.options = {.pmtu = way.pmtu, .packetisation = way.packetisation};
  config.flow = way.flow;
  auto receiver = std::make_unique<roce::RoceReceiver>(config, region, dtps, queues, bell);
  const auto ring = std::make_shared<DescriptorRing>(card);
  Pair pair;
  std::vector<Endpoint> sources;
  const auto endpoints = receiver->endpoints();
  for (std::size_t d = 0; d < dtps.size(); ++d) {
    auto sender = std::make_unique<FpgaSender>(
        sender_config(way, ring, endpoints[d], dtps[d].id, dtps[d].images, dtps[d].placement.payload_bytes()));
    sources.push_back(sender->endpoint());
    pair.senders.push_back(std::move(sender));
  }
  receiver->connect(sources);
  pair.receiver = std::move(receiver);
  return pair;
}

Pair make_only(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
               Doorbell& bell) {
  return make_pair({}, region.bytes(), dtps, queues, bell);
}
Pair make_first_middle_last(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                            Doorbell& bell) {
  return make_pair({.address = "::1", .packetisation = Packetisation::first_middle_last}, region.bytes(), dtps, queues,
                   bell);
}

const auto kLinks = ::testing::Values(ContractLink{.name = "only", .make = &make_only},
                                      ContractLink{.name = "first_middle_last", .make = &make_first_middle_last});
const auto kNamed = [](const auto& param) { return std::string(param.param.name); };
INSTANTIATE_TEST_SUITE_P(Card, LinkContract, kLinks, kNamed);
INSTANTIATE_TEST_SUITE_P(Card, LinkCreditContract, kLinks, kNamed);

/// DTPs with their memory, a receiver, and senders of the card.
class Acquisition {
 public:
  Acquisition(const Way& way, std::vector<ReceiverDtp> dtps, const std::filesystem::path& card = Cards::path())
      : dtps_(std::move(dtps)), region_(end_of(dtps_.back())), queues_(dtps_.size(), 64), found_(dtps_.size()) {
    pair_ = make_pair(way, region_, dtps_, queues_, bell_, card);
    pair_.receiver->start();
  }
  ~Acquisition() {
    pair_.receiver->stop();
    if (!::testing::Test::HasFailure()) return;
    for (log::Entry entry; log::take(entry);) ADD_FAILURE() << "the log: " << entry.text();
  }
  Acquisition(const Acquisition&) = delete;
  Acquisition& operator=(const Acquisition&) = delete;

  [[nodiscard]] Sender& sender(std::size_t dtp = 0) { return *pair_.senders[dtp]; }
  [[nodiscard]] const Injecting& injecting(std::size_t dtp) { return *able<const Injecting>(sender(dtp)); }
  [[nodiscard]] Receiver& receiver() { return *pair_.receiver; }
  /// All images of all DTPs, a thread each.
  void send_all() {
    for (std::size_t d = 0; d < dtps_.size(); ++d) {
      threads_.emplace_back([this, d] {
        Source source(dtps_[d], sender(d));
        const auto give_up = [this] { return now_ns() > until_; };
        for (std::uint64_t k = 0; k < dtps_[d].images; ++k) source.send(k, give_up);
        source.drain(give_up);
        ++sent_;
      });
    }
  }
  /// What became of the images of a DTP.
  [[nodiscard]] const std::vector<Completeness>& found(std::size_t dtp) const { return found_[dtp]; }
  /// Takes all arrivals, and closes what is open when all is sent; returns how many images are complete, with the
  /// pixels that their records speak of.
  std::size_t complete() {
    std::size_t left = 0;
    std::size_t good = 0;
    for (const auto& dtp : dtps_) left += dtp.images;
    while (left > 0 && now_ns() < until_) {
      const auto seen = bell_.count();
      Arrival arrival;
      if (!queues_.try_pop(arrival)) {
        // What left has come long before, unless it was lost.
        bell_.wait(seen, std::chrono::milliseconds(300));
        const bool rested = bell_.count() == seen;
        for (std::uint32_t d = 0; rested && sent_ == dtps_.size() && d < dtps_.size(); ++d) {
          pair_.receiver->close(d, dtps_[d].images);
        }
        continue;
      }
      --left;
      found_[arrival.dtp].push_back(arrival.completeness);
      good += arrival.completeness == Completeness::complete && sum(arrival) == arrival.record.payload_crc32c ? 1U : 0U;
      pair_.receiver->release(arrival.dtp, arrival.index + 1);
    }
    threads_.clear();
    return good;
  }

 private:
  [[nodiscard]] std::uint32_t sum(const Arrival& arrival) const {
    const Placement& p = dtps_[arrival.dtp].placement;
    std::uint32_t crc = 0;
    for (std::uint32_t line = 0; line < p.lines; ++line) {
      crc = crc32c({region_.data() + p.image_offset(arrival.index) + line * p.pitch, p.line_bytes}, crc);
    }
    return crc;
  }

  std::int64_t until_ = now_ns() + 20'000'000'000;
  std::vector<ReceiverDtp> dtps_;
  std::vector<std::byte> region_;
  ArrivalQueues queues_;
  Doorbell bell_;
  Pair pair_;
  std::vector<std::vector<Completeness>> found_;
  std::atomic<std::size_t> sent_{0};
  std::vector<std::jthread> threads_;
};

/// Messages of the log that hold `text`.
std::size_t said(const std::string& text) {
  std::size_t count = 0;
  for (log::Entry entry; log::take(entry);) count += entry.text().find(text) != std::string_view::npos ? 1U : 0U;
  return count;
}

TEST(Card, sixteen_dtps_of_one_card_send_at_once) {
  std::vector<ReceiverDtp> dtps;
  std::uint64_t end = 0;
  std::size_t images = 0;
  for (std::uint32_t d = 0; d < 16; ++d) {
    dtps.push_back(small_dtp(100 + d, 3 + d % 4, 1 + d, 61 + 193 * d, 2, d % 3, end));
    end = (end_of(dtps.back()) + 63) / 64 * 64;
    images += dtps.back().images;
  }
  Acquisition run({.pmtu = 512}, dtps);
  run.send_all();
  EXPECT_EQ(run.complete(), images);
  for (std::size_t d = 0; d < 16; ++d) {
    const Counts counts = run.sender(d).stats();
    EXPECT_EQ(counts["payload_bytes"], dtps[d].images * (dtps[d].placement.payload_bytes() + FrameRecord::kBytes));
    EXPECT_EQ(counts["send_errors"] + counts["connection_errors"], 0U);
    EXPECT_EQ(run.sender(d).pending(), 0U);
  }
}

TEST(Card, images_go_without_credits_when_they_are_paced) {
  for (const Way& way : {Way{.address = "::1", .flow = Flow::paced},
                         Way{.packetisation = Packetisation::first_middle_last, .flow = Flow::paced, .pmtu = 256}}) {
    Acquisition run(way, {small_dtp(7, 5, 20, 1000, 5)});
    EXPECT_EQ(run.sender().granted(), kUnlimited);
    run.send_all();
    EXPECT_EQ(run.complete(), 5U);
  }
}

TEST(Card, a_card_has_one_owner_and_no_more_places_than_it_has) {
  const auto ring = std::make_shared<DescriptorRing>(Cards::path());
  EXPECT_THROW(DescriptorRing{Cards::path()}, StateError);
  const Endpoint destination{.address = "127.0.0.1", .port = 9, .qpn = 17, .rkey = 1};
  std::vector<std::unique_ptr<FpgaSender>> senders;
  for (std::uint32_t d = 0; d < 16; ++d) {
    senders.push_back(std::make_unique<FpgaSender>(sender_config({.flow = Flow::paced}, ring, destination, d)));
  }
  EXPECT_THROW(FpgaSender(sender_config({.flow = Flow::paced}, ring, destination, 16)), ResourceError);
  senders.pop_back();
  const std::vector<std::byte> line(64);
  const BufferDescriptor write{line.data(), 0, 64};
  EXPECT_EQ(senders[0]->post({&write, 1}), 1U);
  EXPECT_THROW(FpgaSender(sender_config({.flow = Flow::paced}, ring, destination, 16)), StateError);
  senders.clear();
  EXPECT_NO_THROW(FpgaSender(sender_config({.flow = Flow::paced}, ring, destination, 16)));
}

TEST(Card, what_no_card_takes_is_lost_and_counted_and_the_rest_goes_on) {
  Acquisition run({.flow = Flow::paced}, {small_dtp(7, 1, 4, 1000, 1)});
  said("");
  const std::vector<std::byte> bytes(2000);
  const std::array<BufferDescriptor, 4> writes{
      BufferDescriptor{bytes.data(), 0, 500}, {bytes.data(), 0, 0}, {bytes.data(), 0, 1025}, {bytes.data(), 500, 500}};
  EXPECT_EQ(run.sender().post(writes), 4U);
  std::size_t done = 0;
  const std::int64_t until = now_ns() + 10'000'000'000;
  while (done < 4 && now_ns() < until) done += run.sender().poll(500);
  EXPECT_EQ(done, 4U);
  const Counts counts = run.sender().stats();
  EXPECT_EQ(counts["send_errors"], 2U);
  EXPECT_EQ(counts["messages"], 2U);
  EXPECT_EQ(said("a write of 0 bytes to offset 0x0 of image 0"), 1U);
}

TEST(Card, somebody_elses_abort_ends_the_source_and_says_so) {
  Acquisition run({}, {small_dtp(7, 50, 20, 1000, 4)});
  said("");
  std::jthread thief([] {
    card::Card card(Cards::path());
    card.carry_out(card::Command::abort, 10'000'000);
  });
  run.send_all();
  thief.join();
  ASSERT_EVENTUALLY(run.sender().stats()["connection_errors"] > 0);
  run.receiver().close(0, 50);
  run.complete();
  EXPECT_EQ(run.sender().granted(), kUnlimited);
  EXPECT_EQ(run.sender().pending(), 0U);
  EXPECT_GT(run.sender().stats()["send_errors"], 0U);
  EXPECT_EQ(said("its run was ended by an Abort that is not ours"), 1U);
}

TEST(Card, a_read_error_of_its_memory_is_named_by_dtp_image_and_write) {
  SimulatedCard card({}, 5 * (SimulatedCard::kMemory / 64));  // the sixth message finds no memory
  Acquisition run({.flow = Flow::paced}, {small_dtp(31, 3, 4, 1000, 3), small_dtp(32, 3, 4, 1000, 3, 0, 1 << 20)},
                  card.path());
  said("");
  run.send_all();
  ASSERT_EVENTUALLY(run.sender(0).stats()["connection_errors"] + run.sender(1).stats()["connection_errors"] >= 2);
  for (std::uint32_t d = 0; d < 2; ++d) run.receiver().close(d, 3);
  EXPECT_LT(run.complete(), 6U);
  EXPECT_EQ(said(": card memory answered a read with an error: "), 1U);
}

TEST(Card, packets_are_dropped_and_damaged_as_the_log_of_faults_says) {
  for (const Packetisation packetisation : {Packetisation::only, Packetisation::first_middle_last}) {
    for (const char* address : {"127.0.0.1", "::1"}) {
      const Way way{.address = address,
                    .packetisation = packetisation,
                    .pmtu = 256,
                    .faults = FaultConfig{.seed = 5, .drop = 0.02, .corrupt = 0.02}};
      const auto one = small_dtp(1, 20, 10, 701, 4);
      Acquisition run(way, {one, small_dtp(2, 20, 10, 701, 4, 0, (end_of(one) + 63) / 64 * 64)});
      run.send_all();
      const std::size_t complete = run.complete();
      EXPECT_GT(complete, 0U);
      EXPECT_LT(complete, 40U);
      for (std::size_t d = 0; d < 2; ++d) {
        ASSERT_EQ(run.found(d).size(), 20U);
        for (std::size_t k = 0; k < 20; ++k) {
          EXPECT_EQ(run.found(d)[k], run.injecting(d).fates()->fate(k)) << address << ", DTP " << d << ", image " << k;
        }
        const FaultCounts counts = run.injecting(d).injected();
        EXPECT_GT(counts.drop, 0U);
        EXPECT_GT(counts.corrupt, 0U);
      }
      const FaultCounts one_of = run.injecting(0).injected(), other = run.injecting(1).injected();
      EXPECT_EQ(run.receiver().stats()["icrc_bad"], one_of.corrupt + other.corrupt);
    }
  }
  const Endpoint destination{.address = "127.0.0.1", .port = 9, .qpn = 17, .rkey = 1};
  EXPECT_THROW(FpgaSender(sender_config({.faults = FaultConfig{.duplicate = 0.1}},
                                        std::make_shared<DescriptorRing>(Cards::path()), destination, 1, 10, 100)),
               ConfigError);
}

TEST(Card, after_abort_at_any_moment_the_next_run_is_whole_and_its_psns_are_in_order) {
  constexpr std::uint32_t kSeed = 11;
  std::mt19937 random(kSeed);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random()) % end; };
  for (int round = 0; round < 25; ++round) {
    const auto packetisation = round % 2 == 0 ? Packetisation::only : Packetisation::first_middle_last;
    const Way way{.packetisation = packetisation, .flow = Flow::paced, .pmtu = 256U << below(5)};
    {
      Acquisition run(way, {small_dtp(1, 4, 1 + below(40), 1 + below(4000), 4)});
      run.send_all();
      std::this_thread::sleep_for(std::chrono::microseconds(below(30'000)));  // wait: any moment
      card::Card card(Cards::path());
      card.carry_out(card::Command::abort, 10'000'000);
      run.receiver().close(0, 4);
      run.complete();
    }
    Acquisition run(way, {small_dtp(1, 4, 5, 700, 4)});
    run.send_all();
    ASSERT_EQ(run.complete(), 4U) << "round " << round << " of seed " << kSeed;
    const std::size_t packets = run.sender().stats()["packets"];
    const auto numbers = psns.of(run.receiver().endpoints()[0].qpn, packets);
    ASSERT_EQ(numbers.size(), packets);
    card::Card card(Cards::path());
    EXPECT_EQ(numbers.at(0), card.read32(card::registers::dtp_table::at(0) + card::registers::dtp_table::kFirstPsn));
    for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], (numbers[0] + i) & 0xFFFFFFU);
  }
}

}  // namespace
}  // namespace rashpa::link
