// SPDX-License-Identifier: Apache-2.0
/// A lane whose sources send events for parts of images, and a unit that can begin with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "rashpa/scheduler/testing.hpp"
#include "rashpa/unit/beginning.hpp"

namespace rashpa::scheduler {
namespace {

using testing::Bench;

/// The number of the stack, the image in it, and the pixels that are there.
using Begun = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>;

class EarlyUnit final : public testing::EchoUnit, public unit::Beginning {
 public:
  bool begin_early(Stack& stack, std::uint32_t image, std::size_t end) noexcept override {
    if (busy_now) return false;
    begun.emplace_back(stack.number, image, std::min<std::size_t>(end, 512));
    return true;
  }
  bool busy_now = false;
  std::vector<Begun> begun;
};

class PartedLink final : public link::Receiver, public link::Parted {
 public:
  void start() override {}
  void release(std::uint32_t /*dtp*/, std::uint64_t /*end*/) noexcept override {}
  void close(std::uint32_t /*dtp*/, std::uint64_t /*end*/) noexcept override {}
  void stop() noexcept override {}
  [[nodiscard]] std::vector<link::Endpoint> endpoints() const override { return {}; }
  void connect(std::span<const link::Endpoint> /*senders*/) override {}
  [[nodiscard]] link::Counts stats() const override { return {}; }
  [[nodiscard]] bool sources_write() const noexcept override { return false; }
  [[nodiscard]] link::PartProgress progress(std::uint32_t dtp) const noexcept override { return there.at(dtp); }
  std::array<link::PartProgress, 2> there{};
};

/// Two DTPs, one above the other: 8 lines of 32 pixels each, in parts of 2 lines.
class EarlyLane : public ::testing::Test {
 protected:
  static LaneConfig parted(std::vector<std::byte>& memory, std::uint32_t event_lines) {
    LaneConfig config = Bench::config(12, 2, memory);
    for (LaneDtp& dtp : config.dtps) dtp.placement.event_lines = event_lines;
    return config;
  }
  std::vector<Begun> advance() {
    unit_.begun.clear();
    lane_.advance(100);
    return unit_.begun;
  }
  void give(std::uint32_t dtp, std::uint64_t index) { lane_.take(dtp, Bench::good(dtp, index), 100); }

  std::vector<std::byte> memory_ = std::vector<std::byte>(8UL * 1024);
  EarlyUnit unit_;
  PartedLink link_;
  Lane lane_{parted(memory_, 2), unit_, link_};
};

TEST_F(EarlyLane, gives_the_unit_pixels_as_far_as_all_dtps_have_them) {
  EXPECT_TRUE(advance().empty()) << "nothing is there";
  link_.there[1] = {0, 4};
  EXPECT_TRUE(advance().empty()) << "the lines above are not";
  link_.there[0] = {0, 2};
  EXPECT_EQ(advance(), (std::vector<Begun>{{0, 0, 64}}));
  EXPECT_TRUE(advance().empty()) << "no more than before";
  link_.there[0] = {0, 6};
  EXPECT_EQ(advance(), (std::vector<Begun>{{0, 0, 192}}));
  give(0, 0);  // all lines of DTP 0
  EXPECT_EQ(advance(), (std::vector<Begun>{{0, 0, (8 + 4) * 32}}));
  link_.there[0] = {1, 2};  // the next image
  link_.there[1] = {0, 6};
  EXPECT_EQ(advance(), (std::vector<Begun>{{0, 0, (8 + 6) * 32}, {0, 1, 64}})) << "above those of DTP 1";
  give(1, 0);
  EXPECT_EQ(advance(), (std::vector<Begun>{{0, 0, 512}})) << "gaps and the rest count as there";
}

TEST_F(EarlyLane, asks_a_busy_unit_again) {
  link_.there = {link::PartProgress{0, 8}, link::PartProgress{0, 2}};
  unit_.busy_now = true;
  EXPECT_TRUE(advance().empty());
  unit_.busy_now = false;
  EXPECT_EQ(advance(), (std::vector<Begun>{{0, 0, 320}}));
}

TEST_F(EarlyLane, begins_the_next_stack_only_when_the_one_before_is_submitted) {
  link_.there = {link::PartProgress{4, 2}, link::PartProgress{4, 2}};
  for (std::uint64_t k = 0; k < 4; ++k) give(0, k);
  for (std::uint64_t k = 0; k < 3; ++k) give(1, k);
  const std::vector<Begun> first = advance();
  ASSERT_EQ(first.size(), 4U);
  for (const Begun& one : first) EXPECT_EQ(std::get<0>(one), 0U);
  give(1, 3);
  EXPECT_TRUE(advance().empty());
  ASSERT_EQ(unit_.stacks.size(), 1U);
  EXPECT_EQ(advance(), (std::vector<Begun>{{1, 0, 64}}));
}

TEST_F(EarlyLane, leaves_a_unit_alone_where_images_have_one_event) {
  Lane plain(parted(memory_, 0), unit_, link_);
  link_.there = {link::PartProgress{0, 8}, link::PartProgress{0, 8}};
  plain.advance(100);
  EXPECT_TRUE(unit_.begun.empty());
}

}  // namespace
}  // namespace rashpa::scheduler
