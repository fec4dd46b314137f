// SPDX-License-Identifier: Apache-2.0
/// Link verbs over the stand-in RNIC with an event for each part of an image.
#include <gtest/gtest.h>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/link/testing/rnic/verbs_bench.hpp"

namespace rashpa::link {
namespace {

namespace rnic = testing::rnic;
using rnic::VerbsBench;

class VerbsParts : public ::testing::TestWithParam<Transport> {
 protected:
  static constexpr std::uint64_t kImages = 60;
  struct Fresh {
    Fresh() { rnic::reset(); }
  };
  Fresh fresh_;  // before anything is registered
  VerbsBench bench_{GetParam(), false, 2, kImages, {}, {}, VerbsBench::Words::none, {}, 3};  // 3, 3 and 2 lines
};

TEST_P(VerbsParts, each_image_arrives_once_and_its_parts_are_counted) {
  bench_.start();
  for (std::uint64_t k = 0; k < kImages; ++k) {
    for (std::uint32_t dtp = 0; dtp < 2; ++dtp) ASSERT_TRUE(bench_.send(dtp, k));
    for (int i = 0; i < 2; ++i) {
      const auto arrival = bench_.next();
      ASSERT_TRUE(arrival.has_value());
      EXPECT_EQ(arrival->index, k);
      EXPECT_EQ(arrival->completeness, Completeness::complete);
      EXPECT_EQ(arrival->proof, Proof::crc);
      EXPECT_TRUE(bench_.holds(arrival->dtp, k));
      bench_.receiver().release(arrival->dtp, k + 1);
    }
  }
  bench_.receiver().stop();
  const Counts stats = bench_.receiver().stats();
  EXPECT_EQ(stats["events"], 2 * kImages);
  EXPECT_EQ(stats["part_events"], 4 * kImages);
  EXPECT_EQ(stats["lost_parts"] + stats["bad_records"] + stats["malformed"] + stats["refused_key"], 0U);
}

TEST_P(VerbsParts, progress_is_told_before_the_image_is_there) {
  bench_.start();
  ASSERT_TRUE(bench_.granted(0, 0));
  bench_.loses_part = [](std::uint64_t, std::uint32_t) { return true; };  // sent by hand below
  const auto* const parted = able<Parted>(bench_.receiver());
  ASSERT_NE(parted, nullptr);
  EXPECT_EQ(parted->progress(0).lines, 0U);
  ASSERT_TRUE(bench_.send_part(0, 0, 0, 0));
  ASSERT_EVENTUALLY(parted->progress(0).lines == 3);
  ASSERT_TRUE(bench_.send_part(0, 0, 1, 0));
  ASSERT_EVENTUALLY(parted->progress(0).lines == 6);
  EXPECT_EQ(parted->progress(0).index, 0U);
  EXPECT_EQ(parted->progress(1).lines, 0U) << "the other DTP has sent nothing";
  bench_.receiver().stop();
}

INSTANTIATE_TEST_SUITE_P(Transports, VerbsParts, ::testing::Values(Transport::uc, Transport::rc),
                         [](const auto& param) { return param.param == Transport::uc ? "uc" : "rc"; });

class LostOfVerbs : public ::testing::Test {
 protected:
  struct Fresh {
    Fresh() { rnic::reset(); }
  };
  std::optional<Arrival> image() {
    bench_.start();
    EXPECT_TRUE(bench_.send(0, 0));
    auto arrival = bench_.next();
    bench_.receiver().stop();
    return arrival;
  }
  Fresh fresh_;
  VerbsBench bench_{Transport::uc, false, 1, 10, {}, {}, VerbsBench::Words::none, {}, 3};
};

TEST_F(LostOfVerbs, a_lost_line_marks_the_lines_of_its_part_alone) {
  for (const std::uint32_t line : {0U, 4U, 7U}) {
    rnic::reset();
    VerbsBench bench(Transport::uc, false, 1, 10, {}, {}, VerbsBench::Words::none, {}, 3);
    bench.loses_line = [line](std::uint64_t, std::uint32_t n) { return n == line; };
    bench.start();
    ASSERT_TRUE(bench.send(0, 0));
    const auto arrival = bench.next();
    bench.receiver().stop();
    ASSERT_TRUE(arrival.has_value());
    EXPECT_EQ(arrival->completeness, Completeness::partial);
    EXPECT_EQ(arrival->loss, Loss::lines);
    EXPECT_EQ(arrival->lines_missing, line == 7 ? 2U : 3U);
    ASSERT_NE(arrival->map, nullptr);
    for (std::uint32_t n = 0; n < VerbsBench::kLines; ++n) {
      EXPECT_EQ(arrival->map->line_arrived(n), n / 3 != line / 3) << "line " << n << " without " << line;
    }
  }
}

TEST_F(LostOfVerbs, the_event_of_a_part_does_not_matter_to_an_image_that_is_whole) {
  bench_.loses_part = [](std::uint64_t, std::uint32_t part) { return part == 1; };
  const auto arrival = image();
  ASSERT_TRUE(arrival.has_value());
  EXPECT_EQ(arrival->completeness, Completeness::complete);
  EXPECT_EQ(bench_.receiver().stats()["lost_parts"], 1U);
  const auto* const parted = able<Parted>(bench_.receiver());
  EXPECT_EQ(parted->progress(0).lines, 3U) << "lines behind a lost event are not told";
}

TEST_F(LostOfVerbs, a_part_and_its_event_mark_its_lines_alone) {
  bench_.loses_part = [](std::uint64_t, std::uint32_t part) { return part == 0; };
  bench_.loses_line = [](std::uint64_t, std::uint32_t line) { return line < 3; };
  const auto arrival = image();
  ASSERT_TRUE(arrival.has_value());
  EXPECT_EQ(arrival->loss, Loss::lines);
  EXPECT_EQ(arrival->lines_missing, 3U);
}

TEST_F(LostOfVerbs, every_part_leaves_nothing_that_is_proven) {
  bench_.loses_line = [](std::uint64_t, std::uint32_t line) { return line % 3 == 1; };
  const auto arrival = image();
  ASSERT_TRUE(arrival.has_value());
  EXPECT_EQ(arrival->loss, Loss::corrupt);
}

}  // namespace
}  // namespace rashpa::link
