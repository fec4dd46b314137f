// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/pace.hpp"

#include <gtest/gtest.h>

namespace rashpa::transfer {
namespace {

TEST(Paces, a_frame_is_due_by_the_last_pace_that_began_before_it) {
  Paces paces;
  paces.begin({.rate_hz = 1000, .frame = 0, .start_ns = 5});
  EXPECT_EQ(paces.of(3).due_ns(3), 3'000'005);
  paces.change({.rate_hz = 100, .frame = 50, .start_ns = 7'000});
  EXPECT_TRUE(paces.changed());
  EXPECT_EQ(paces.of(50).due_ns(50), 7'000);
  EXPECT_FALSE(paces.changed());
  EXPECT_EQ(paces.of(51).due_ns(51), 10'007'000);
  EXPECT_EQ(paces.of(49).due_ns(49), 49'000'005) << "one that is sent again has the time that it had";
  paces.change({.rate_hz = 0, .frame = 50, .start_ns = 9'000});
  EXPECT_EQ(paces.of(51).rate_hz, 0);
  EXPECT_EQ(paces.of(49).rate_hz, 1000);
}

TEST(Paces, an_order_from_an_earlier_frame_on_takes_the_place_of_those_behind_it) {
  Paces paces;
  paces.begin({.rate_hz = 100, .frame = 0, .start_ns = 0});
  paces.change({.rate_hz = 50, .frame = 1000, .start_ns = 0});  // while it is held there
  paces.change({.rate_hz = 5, .frame = 13, .start_ns = 0});     // the hold has ended
  EXPECT_EQ(paces.of(12).rate_hz, 100);
  for (const std::uint64_t frame : {13U, 500U, 999U, 1000U, 2000U}) EXPECT_EQ(paces.of(frame).rate_hz, 5) << frame;
}

TEST(Paces, frames_that_are_played_again_are_due_when_they_were_taken) {
  const Timetable taken{.due_ns = {0, 10, 500}, .period_ns = 600};
  Paces paces;
  paces.begin({.rate_hz = 5e6, .frame = 0, .start_ns = 1000, .times = &taken});
  EXPECT_EQ(paces.of(0).due_ns(0), 1000);
  EXPECT_EQ(paces.of(2).due_ns(2), 1500);
  EXPECT_EQ(paces.of(3).due_ns(3), 1600) << "the first comes again";
  EXPECT_EQ(paces.of(7).due_ns(7), 1000 + 2 * 600 + 10);
  paces.change({.rate_hz = 1e6, .frame = 7, .start_ns = 9000});
  EXPECT_EQ(paces.of(8).due_ns(8), 10000) << "another rate takes the place of the times";
}

}  // namespace
}  // namespace rashpa::transfer
