// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/port_counts.hpp"

#include <gtest/gtest.h>

namespace rashpa::link::stream2 {
namespace {

TEST(PortCounts, the_first_frame_is_the_lowest_of_all_ports) {
  PortCounts counts(0, 3);
  EXPECT_FALSE(counts.frame(0, 1002, 1));
  EXPECT_FALSE(counts.frame(1, 1000, 2));
  EXPECT_FALSE(counts.frame(1, 1000, 3)) << "port 2 has said nothing yet";
  EXPECT_EQ(counts.frame(2, 1001, 4), 1);
  EXPECT_EQ(counts.frame(0, 1002, 5), 2);
  EXPECT_EQ(counts.frame(1, 1000, 5), 0);
  EXPECT_EQ(counts.frame(1, 998, 5), -2) << "from before the run";
}

TEST(PortCounts, a_silent_port_is_not_waited_for_for_ever) {
  PortCounts counts(0, 2);
  EXPECT_FALSE(counts.frame(0, 7, 1));
  EXPECT_FALSE(counts.frame(0, 7, sls::FrameCounts::kPatienceNs));
  EXPECT_EQ(counts.frame(0, 7, 1 + sls::FrameCounts::kPatienceNs), 0);
}

TEST(PortCounts, a_number_that_is_given_is_not_waited_for) {
  PortCounts counts(5, 2);
  EXPECT_EQ(counts.frame(0, 8, 1), 3);
}

TEST(PortCounts, all_ports_have_to_end_behind_their_images) {
  PortCounts counts(1, 2);
  counts.end(1, false);
  EXPECT_TRUE(counts.ended_before());
  EXPECT_EQ(counts.frame(1, 1, 1), 0);
  counts.end(0, true);
  EXPECT_FALSE(counts.ended());
  counts.end(1, true);
  EXPECT_TRUE(counts.ended());
  EXPECT_FALSE(counts.ended_before());
}

}  // namespace
}  // namespace rashpa::link::stream2
