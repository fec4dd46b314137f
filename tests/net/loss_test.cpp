// SPDX-License-Identifier: Apache-2.0
/// Acquisitions over a cable that loses, doubles and disorders packets both ways: lines and events, but also
/// acknowledgements and credits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <utility>

#include "checks.hpp"
#include "lossy_cable.hpp"
#include "place.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::net {
namespace {

namespace roce = link::roce;
using link::Packetisation;
using link::Transport;

struct Way {
  const char* name;
  Wear there;
  Wear back;
  roce::Options options;
  bool v6 = false;
  std::uint64_t frames = 1000;
};

/// What the cable lost of each image. It knows the images by counting the events of each queue pair, lost ones
/// included; a source without faults sends each packet once and in order.
class LossLog {
 public:
  void see(std::span<const std::byte> frame, bool lost) {
    const wire::Packet packet = wire::decode(frame, wire::Layer::ethernet);
    Images& of = queue_pairs_[packet.bth.destination_qp];
    if (std::exchange(of.ended, packet.immediate.has_value())) of.fates.push_back(Completeness::complete);
    if (lost) of.fates.back() = of.ended ? Completeness::missing : Completeness::partial;
  }
  /// By DTP: queue pairs are numbered in their order.
  [[nodiscard]] std::vector<std::vector<Completeness>> fates() const {
    std::vector<std::vector<Completeness>> all;
    for (const auto& [number, images] : queue_pairs_) all.push_back(images.fates);
    return all;
  }

 private:
  struct Images {
    std::vector<Completeness> fates;
    bool ended = true;  // the last one, by its event
  };
  std::map<std::uint32_t, Images> queue_pairs_;
};

class Loss : public testing::TestWithParam<Way> {
 protected:
  static constexpr std::uint64_t kSeed = 11;

  [[nodiscard]] chain::Plan plan() const {
    const Way& way = GetParam();
    chain::Plan plan;
    plan.source = place(cable_.one, way.v6 ? cable_.one.ipv6() : cable_.one.ipv4());
    plan.destination = place(cable_.two, way.v6 ? cable_.two.ipv6() : cable_.two.ipv4());
    plan.frames = way.frames;
    plan.slots = 2 * plan.stack;  // the least: the source often waits for the very next credit
    plan.roce = way.options;
    plan.roce.pmtu = 256;
    plan.roce.socket_buffer = 4U << 20;
    plan.roce.window_bytes = 8U << 10;  // the relay's buffer has room for it where the system's limits are small
    // Nothing is to be closed for being slow; what is lost at the very end is.
    plan.deadline_ms = way.options.transport == Transport::rc ? 10'000 : 1500;
    return chain::checked(plan);
  }
  /// Once all that came out of the cable has been counted by the receiver.
  void expect_every_packet_is_accounted_for(const chain::Chain& chain) {
    const auto received = [&] { return chain.receiver->status().link["packets"]; };
    const auto sent = [&] {
      std::uint64_t packets = 0;
      for (const auto& dtp : chain.emulator->status().dtps) packets += dtp.link["packets"];
      return packets;
    };
    const auto settled = [&] {
      const Worn there = cable_.there();
      return there.forwarded == there.packets - there.dropped + there.duplicated && there.forwarded == received();
    };
    EXPECT_EVENTUALLY(settled());
    const Worn there = cable_.there();
    const Worn back = cable_.back();
    EXPECT_EQ(there.overflowed + back.overflowed, 0U);
    EXPECT_EQ(received(), there.packets - there.dropped + there.duplicated);
    if (GetParam().options.transport != Transport::rc) {
      EXPECT_EQ(sent(), there.packets);
    } else {
      EXPECT_GT(there.packets, sent()) << "with the acknowledgements of credits";
    }
    const auto as_planned = [](std::uint64_t happened, double probability, std::uint64_t packets) {
      const double expected = probability * static_cast<double>(packets);
      // Four standard deviations of a rare event, and one for small numbers; the seed is fixed, the number is not.
      EXPECT_NEAR(static_cast<double>(happened), expected, 4 * std::sqrt(expected) + 1);
    };
    as_planned(there.dropped, GetParam().there.drop, there.packets);
    as_planned(back.dropped, GetParam().back.drop, back.packets);
    as_planned(there.reordered, GetParam().there.reorder, there.packets - there.dropped);
    as_planned(back.duplicated, GetParam().back.duplicate, back.packets - back.dropped);
    const link::Counts link = chain.receiver->status().link;
    EXPECT_EQ(link["icrc_bad"] + link["malformed"] + link["unknown_qp"] + link["refused_key"] + link["bad_records"],
              0U);
  }

  LossLog log_;
  LossyCable cable_{GetParam().there, GetParam().back, kSeed, [this](std::span<const std::byte> frame, bool lost) {
                      if (GetParam().options.transport != Transport::rc) log_.see(frame, lost);
                    }};
};

constexpr Wear kOnePercent{.drop = 0.01};
constexpr Wear kFivePercent{.drop = 0.05};
constexpr Wear kDisorder{.duplicate = 0.03, .reorder = 0.05};
constexpr Wear kAll{.drop = 0.02, .duplicate = 0.03, .reorder = 0.05};

std::string name(const testing::TestParamInfo<Way>& way) { return way.param.name; }

using LossRepaired = Loss;

TEST_P(LossRepaired, every_byte_is_delivered_exactly_once) {
  const chain::Plan plan = this->plan();
  chain::Chain chain(plan);
  ASSERT_TRUE(chain.play());
  const receiver::Status status = chain.receiver->status();
  const std::uint64_t images = plan.frames * plan.modules;
  EXPECT_EQ(status.buffers[0].books.complete, plan.frames);
  EXPECT_TRUE(status.buffers[0].books.balanced());
  EXPECT_EQ(status.link["events"], images);
  EXPECT_EQ(status.link["payload_bytes"], images * (std::uint64_t{plan.width} * plan.height * 2 + FrameRecord::kBytes));
  EXPECT_EQ(status.link["late_packets"] + status.link["crc_mismatches"], 0U);
  expect_every_packet_is_accounted_for(chain);
  for (const auto& dtp : chain.emulator->status().dtps) {
    EXPECT_EQ(dtp.link["connection_errors"] + dtp.link["send_errors"], 0U);
    EXPECT_EQ(dtp.link["payload_bytes"], status.link["payload_bytes"] / plan.modules);
  }
  cable_.cut();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, LossRepaired,
    testing::Values(Way{"one_percent", kOnePercent, kOnePercent, {.transport = Transport::rc}},
                    Way{"five_percent", kFivePercent, kFivePercent, {.transport = Transport::rc}},
                    Way{"one_percent_long_messages_ipv6",
                        kOnePercent,
                        kOnePercent,
                        {.transport = Transport::rc, .packetisation = Packetisation::first_middle_last},
                        true},
                    Way{"acknowledgements_alone", {}, kFivePercent, {.transport = Transport::rc}},
                    Way{"doubled_and_disordered_acknowledgements", {}, kDisorder, {.transport = Transport::rc}},
                    Way{"everything_both_ways", kAll, kAll, {.transport = Transport::rc}}),
    name);

using LossInTheBooks = Loss;

TEST_P(LossInTheBooks, every_lost_packet_is_there_and_lost_credits_do_not_stall) {
  const chain::Plan plan = this->plan();
  chain::Chain chain(plan);
  ASSERT_TRUE(chain.play());
  expect_every_packet_is_accounted_for(chain);
  const Worn there = cable_.there();
  cable_.cut();
  chain::expect_books_equal(chain, chain::of_images(log_.fates()));
  const receiver::Status status = chain.receiver->status();
  const Books& books = status.buffers[0].books;
  EXPECT_EQ(books.expected, plan.frames);
  EXPECT_EQ(books.complete + books.partial + books.missing, plan.frames);
  EXPECT_GT(books.partial, 0U);
  // A gap at the very end is seen by nobody.
  if (plan.roce.transport == Transport::ud) {
    EXPECT_LE(status.link["sequence_gaps"], there.dropped);
    EXPECT_GE(status.link["sequence_gaps"] + 10, there.dropped);
  }
  EXPECT_EQ(status.link["late_packets"] + status.link["duplicate_packets"], 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, LossInTheBooks,
    testing::Values(
        Way{"uc", kOnePercent, kOnePercent, {.transport = Transport::uc}},
        Way{"uc_ipv6", kOnePercent, kOnePercent, {.transport = Transport::uc}, true},
        Way{"uc_long_messages",
            kOnePercent,
            kOnePercent,
            {.transport = Transport::uc, .packetisation = Packetisation::first_middle_last}},
        Way{"uc_full_icrc", kOnePercent, kOnePercent, {.transport = Transport::uc, .icrc = roce::IcrcMode::full}},
        Way{"uc_every_fifth_credit", kOnePercent, {.drop = 0.2}, {.transport = Transport::uc}},
        Way{"ud", kOnePercent, kOnePercent, {.transport = Transport::ud}},
        Way{"ud_every_fifth_credit", kOnePercent, {.drop = 0.2}, {.transport = Transport::ud}}),
    name);

using Disorder = Loss;

TEST_P(Disorder, costs_nothing_where_packets_stand_alone) {
  const chain::Plan plan = this->plan();
  chain::Chain chain(plan);
  ASSERT_TRUE(chain.play());
  expect_every_packet_is_accounted_for(chain);
  const receiver::Status status = chain.receiver->status();
  EXPECT_EQ(status.buffers[0].books.complete, plan.frames);
  EXPECT_EQ(status.link["events"], plan.frames * plan.modules);
  cable_.cut();
}

INSTANTIATE_TEST_SUITE_P(Ways, Disorder,
                         testing::Values(Way{"uc", kDisorder, kDisorder, {.transport = Transport::uc}},
                                         Way{"ud", kDisorder, kDisorder, {.transport = Transport::ud}}),
                         name);

}  // namespace
}  // namespace rashpa::net
