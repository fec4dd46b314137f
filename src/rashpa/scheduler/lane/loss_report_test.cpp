// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/loss_report.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "rashpa/scheduler/testing.hpp"

namespace rashpa::scheduler {
namespace {

using testing::Bench;

struct Reported {
  std::vector<std::byte> memory = std::vector<std::byte>(8UL * 1024);
  LaneConfig config = Bench::config(12, 2, memory);
  LossReport report{config};
};

TEST(LossReport, counts_each_dtp_for_itself) {
  Reported r;
  r.report.count(0, Bench::good(0, 0));
  link::Arrival partial = Bench::lost(1, 0, link::Loss::lines);
  partial.completeness = Completeness::partial;
  partial.lines_missing = 3;
  r.report.count(1, partial);
  r.report.count(1, Bench::lost(1, 1, link::Loss::overrun));
  r.report.count_never_come(1, 5);
  const LaneDtpStats first = r.report.stats(0);
  EXPECT_EQ(first.complete, 1U);
  EXPECT_EQ(first.losses[static_cast<std::size_t>(link::Loss::none)], 1U);
  EXPECT_EQ(first.partial + first.missing + first.lines_missing, 0U);
  const LaneDtpStats second = r.report.stats(1);
  EXPECT_EQ(second.complete, 0U);
  EXPECT_EQ(second.partial, 1U);
  EXPECT_EQ(second.missing, 6U);
  EXPECT_EQ(second.lines_missing, 11U);
  EXPECT_EQ(second.losses[static_cast<std::size_t>(link::Loss::lines)], 1U);
  EXPECT_EQ(second.losses[static_cast<std::size_t>(link::Loss::overrun)], 1U);
  EXPECT_EQ(second.losses[static_cast<std::size_t>(link::Loss::deadline)], 5U);
}

TEST(LossReport, the_first_loss_that_is_noted_stays) {
  Reported r;
  EXPECT_FALSE(r.report.first().known);
  r.report.note_first(2, 1, link::Loss::event, false);
  r.report.note_first(3, 0, link::Loss::lines, true);
  const FirstIncomplete& first = r.report.first();
  ASSERT_TRUE(first.known);
  EXPECT_EQ(first.index, 2U);
  EXPECT_EQ(first.frame, 7U) << "of every third from frame 1 on";
  EXPECT_EQ(first.dtp, 11U);
  EXPECT_EQ(first.module, 1U);
  EXPECT_EQ(first.loss, link::Loss::event);
  EXPECT_FALSE(first.ended);
}

/// All messages that wait.
std::vector<std::string> said() {
  std::vector<std::string> all;
  log::Entry entry;
  while (log::take(entry)) all.emplace_back(entry.text());
  return all;
}

TEST(LossReport, says_each_kind_of_loss_in_words_and_not_again_at_once) {
  Reported r;
  said();
  std::array<LostRun, 2> lost{LostRun{10, 1, 1}, LostRun{11, 6, 2}};
  StackImage image;
  image.frame_number = 7;
  image.lost = lost.data();
  image.lost_count = 2;
  link::Arrival partial = Bench::lost(1, 2, link::Loss::lines);
  partial.lines_missing = 2;
  r.report.say(1, partial, image);
  r.report.say(1, partial, image);
  for (const link::Loss loss :
       {link::Loss::event, link::Loss::deadline, link::Loss::overrun, link::Loss::corrupt, link::Loss::none}) {
    r.report.say(1, Bench::lost(1, 2, loss), image);
  }
  EXPECT_EQ(said(), (std::vector<std::string>{"2 of 8 lines are lost, the first is line 6", "its event is lost",
                                              "the DTP stalls: nothing of the image came before the deadline",
                                              "the slot of the image was not free",
                                              "no line of the image is proven by its CRC32C"}));
}

}  // namespace
}  // namespace rashpa::scheduler
