// SPDX-License-Identifier: Apache-2.0
/// The link verbs with operation = read over the stand-in RNIC: sources offer runs, and the receiver reads them.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/link/testing/rnic/verbs_bench.hpp"

namespace rashpa::link {
namespace {

namespace rnic = testing::rnic;
using rnic::VerbsBench;

class OfferedImages : public ::testing::Test {
 protected:
  struct Fresh {
    Fresh() { rnic::reset(); }
  };
  /// Returns true when `condition` holds within a minute, while the source of DTP 0 polls.
  template <typename Condition>
  bool comes(Condition condition) {
    const testing::Patience late;
    while (!condition() && !late()) bench_.sender(0).poll(100);
    return condition();
  }
  Fresh fresh_;  // before anything is registered
  VerbsBench bench_{
      Transport::rc, false, 2, 200, {}, {}, rnic::VerbsBench::Words::none, {.operation = verbs::Operation::read}};
};

TEST_F(OfferedImages, an_event_waits_for_the_reads_before_it) {
  bench_.start();
  rnic::hold_reads();
  ASSERT_TRUE(bench_.send(0, 0));
  ASSERT_TRUE(comes([] { return rnic::held() >= VerbsBench::kLines && rnic::untaken() == 0; }));
  EXPECT_FALSE(bench_.holds(0, 0));
  EXPECT_GE(bench_.sender(0).pending(), std::size_t{VerbsBench::kLines}) << "the source keeps its frames";
  Arrival arrival;
  EXPECT_FALSE(bench_.queues().try_pop(arrival));
  rnic::let_go();
  const auto came = bench_.next();
  ASSERT_TRUE(came.has_value());
  EXPECT_EQ(came->completeness, Completeness::complete);
  EXPECT_EQ(came->proof, Proof::crc);
  EXPECT_TRUE(comes([&] { return bench_.sender(0).pending() == 0; })) << "the receiver tells that it has read them";
  bench_.receiver().stop();
}

TEST_F(OfferedImages, each_run_is_reported_done_once) {
  bench_.start();
  ASSERT_TRUE(bench_.send(1, 0));
  std::size_t done = 0;
  const testing::Patience late;
  // send() has taken the first reports itself: a second image's are counted from its begin.
  while (bench_.sender(1).pending() != 0 && !late()) bench_.sender(1).poll(100);
  const Placement& p = bench_.dtps()[1].placement;
  for (std::uint32_t n = 0; n < 3; ++n) {
    const BufferDescriptor write{bench_.line(1, 1, n), p.image_offset(1) + n * p.pitch, VerbsBench::kLineBytes};
    ASSERT_EQ(bench_.sender(1).post({&write, 1}), 1U);
  }
  while (bench_.sender(1).pending() != 0 && !late()) done += bench_.sender(1).poll(100);
  EXPECT_EQ(done, 3U);
  bench_.receiver().stop();
}

TEST_F(OfferedImages, a_source_takes_no_more_runs_than_its_offers_hold) {
  bench_.start();
  rnic::hold();
  const BufferDescriptor write{bench_.line(0, 0, 0), bench_.dtps()[0].placement.image_offset(0),
                               VerbsBench::kLineBytes};
  constexpr std::size_t kHeld = std::size_t{16} * verbs::kRunsOfOffer;
  std::size_t taken = 0;
  while (taken < 2 * kHeld && bench_.sender(0).post({&write, 1}) == 1) ++taken;
  EXPECT_EQ(taken, kHeld);
  EXPECT_EQ(bench_.sender(0).post({&write, 1}), 0U);
  rnic::let_go();
  EXPECT_TRUE(comes([&] { return bench_.sender(0).pending() == 0; }));
  EXPECT_EQ(rnic::fates().read, kHeld);
  EXPECT_EQ(bench_.sender(0).post({&write, 1}), 1U);
  EXPECT_TRUE(comes([&] { return rnic::fates().read == kHeld + 1; }));
  bench_.receiver().stop();
}

TEST_F(OfferedImages, a_run_outside_the_lines_of_its_dtp_is_not_read_and_its_image_is_lost) {
  bench_.start();
  const Placement& other = bench_.dtps()[1].placement;
  const std::uint64_t places[] = {bench_.line_bytes_of_region(), other.image_offset(0),
                                  bench_.dtps()[0].placement.records_offset,
                                  bench_.dtps()[0].placement.image_offset(0) + 1};
  std::uint64_t image = 0;
  for (const std::uint64_t place : places) {
    const bool shifted = place % VerbsBench::kLineBytes == 1;  // ends behind the last line
    const BufferDescriptor write{bench_.line(0, 0, 0), place,
                                 shifted ? VerbsBench::kLines * VerbsBench::kLineBytes : 64};
    ASSERT_EQ(bench_.sender(0).post({&write, 1}), 1U);
    ASSERT_TRUE(bench_.send(0, image));
    ASSERT_TRUE(bench_.send(0, image + 1));
    const auto lost = bench_.next();
    ASSERT_TRUE(lost.has_value());
    EXPECT_EQ(lost->index, image);
    EXPECT_EQ(lost->completeness, Completeness::missing) << "place " << place;
    const auto next = bench_.next();
    ASSERT_TRUE(next.has_value());
    EXPECT_EQ(next->index, image + 1);
    EXPECT_EQ(next->completeness, Completeness::complete) << "the connection goes on";
    image += 2;
    bench_.receiver().release(0, image);
  }
  EXPECT_EQ(bench_.receiver().stats()["refused_key"], std::size(places));
  EXPECT_TRUE(comes([&] { return bench_.sender(0).pending() == 0; })) << "the source need not keep what is refused";
  EXPECT_EQ(bench_.host().data()[other.image_offset(0)], std::byte{0}) << "the neighbour's line is untouched";
  bench_.receiver().stop();
}

TEST_F(OfferedImages, a_receiver_that_ends_leaves_a_source_that_knows_it) {
  bench_.start();
  ASSERT_TRUE(bench_.send(0, 0));
  ASSERT_TRUE(bench_.next().has_value());
  ASSERT_TRUE(comes([&] { return bench_.sender(0).pending() == 0; }));
  bench_.sender(0).poll(0);  // reports the runs of the first image
  bench_.receiver().stop();
  bench_.end_receiver();
  const BufferDescriptor write{bench_.line(0, 1, 0), bench_.dtps()[0].placement.image_offset(1),
                               VerbsBench::kLineBytes};
  ASSERT_EQ(bench_.sender(0).post({&write, 1}), 1U);
  std::size_t done = 0;
  const testing::Patience late;
  while (done == 0 && !late()) done += bench_.sender(0).poll(100);
  EXPECT_EQ(done, 1U) << "nobody will read it";
  EXPECT_EQ(bench_.sender(0).pending(), 0U);
  EXPECT_GE(bench_.sender(0).stats()["send_errors"], 1U);
  EXPECT_EQ(bench_.sender(0).post({&write, 1}), 1U) << "lost, as if on the wire";
  EXPECT_EQ(bench_.sender(0).poll(0), 1U);
}

std::string refusal(Transport transport, const rnic::Abilities& abilities) {
  rnic::reset();
  rnic::set(abilities);
  try {
    const VerbsBench bench(transport, false, 1, 10, {}, {}, rnic::VerbsBench::Words::none,
                           {.operation = verbs::Operation::read});
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(OfferedRefusals, an_unreliable_connection_has_no_reads) {
  EXPECT_EQ(refusal(Transport::uc, {}),
            "verbs: transport uc has no RDMA READ; set transport = \"rc\", or operation = \"write\"");
}

TEST(OfferedRefusals, a_device_with_few_reads_in_flight_is_refused_with_what_to_do) {
  EXPECT_EQ(refusal(Transport::rc, {.most_reads = 4}),
            "verbs: standin0 has at most 4 RDMA READs in flight, not 8; set operation = \"write\"");
}

TEST(OfferedRefusals, frames_that_peers_may_not_read_are_not_read) {
  rnic::reset();
  VerbsBench bench(Transport::rc, false, 1, 10, {}, {}, rnic::VerbsBench::Words::none,
                   {.operation = verbs::Operation::read, .readable = false});
  bench.start();
  ASSERT_TRUE(bench.send(0, 0));
  const testing::Patience late;
  while (bench.receiver().stats()["refused_key"] == 0 && !late()) bench.sender(0).poll(100);
  EXPECT_EQ(rnic::fates().not_readable, 1U);
  EXPECT_EQ(rnic::fates().read, 0U);
  bench.receiver().stop();
  Arrival arrival;
  EXPECT_FALSE(bench.queues().try_pop(arrival)) << "its event waits for reads that failed";
}

TEST(OfferedRefusals, sources_without_credits_are_refused) {
  verbs::SenderConfig config{};
  config.options.transport = Transport::rc;
  config.options.operation = verbs::Operation::read;
  config.flow = Flow::paced;
  EXPECT_THROW(verbs::OfferSender{config}, ConfigError);
}

}  // namespace
}  // namespace rashpa::link
