// SPDX-License-Identifier: Apache-2.0
/// A lane with images that an RNIC writes into memory of a device: the stand-in's bytes are seen behind a flush only.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "rashpa/link/testing/rnic/verbs_bench.hpp"
#include "rashpa/scheduler/testing.hpp"

namespace rashpa::receiver {
namespace {

namespace rnic = link::testing::rnic;

constexpr std::uint64_t kImages = 64;
constexpr std::uint32_t kStack = 2;

/// A unit that reads its images when it gets a stack, as a device does that needs no host for it.
class ReadingUnit final : public scheduler::testing::EchoUnit {
 public:
  explicit ReadingUnit(const rnic::VerbsBench& bench) : bench_(bench) {}
  void submit(Stack* stack) noexcept override {
    for (const StackImage& image : stack->view()) {
      if (image.completeness == Completeness::complete) good += bench_.holds(0, image.index) ? 1 : 0;
    }
    EchoUnit::submit(stack);
  }
  std::uint64_t good = 0;

 private:
  const rnic::VerbsBench& bench_;
};

class RnicImages : public ::testing::TestWithParam<link::Transport> {
 protected:
  struct Fresh {
    Fresh() { rnic::reset(); }
  };
  [[nodiscard]] scheduler::LaneConfig config() const {
    const link::ReceiverDtp& dtp = bench_.dtps()[0];
    scheduler::LaneConfig made{.name = "full",
                               .device_images = bench_.images(),
                               .slot_bytes = dtp.placement.slot_bytes,
                               .slots = dtp.placement.slots,
                               .stack = kStack,
                               .images = kImages,
                               .slice = dtp.slice,
                               .deadline_ns = scheduler::testing::kDeadline,
                               .dtps = {}};
    made.dtps.push_back({.position = 0, .id = dtp.id, .placement = dtp.placement});
    return made;
  }
  /// Sends all images and takes them through the lane.
  void run() {
    bench_.start();
    for (std::uint64_t k = 0; k < kImages; ++k) {
      ASSERT_TRUE(bench_.send(0, k));
      const auto arrival = bench_.next();
      ASSERT_TRUE(arrival.has_value());
      ASSERT_TRUE(lane_.can_take(*arrival));
      lane_.take(0, *arrival, 100);
      if (lane_.advance(200)) lane_.release(*unit_.stacks.back());
    }
    bench_.receiver().stop();
    EXPECT_EQ(unit_.stacks.size(), kImages / kStack);
  }

  Fresh fresh_;
  rnic::VerbsBench bench_{GetParam(), true, 1, kImages};
  ReadingUnit unit_{bench_};
  scheduler::Lane lane_{config(), unit_, bench_.receiver()};
};

TEST_P(RnicImages, are_whole_when_the_unit_has_the_stack) {
  run();
  EXPECT_EQ(unit_.good, kImages);
  EXPECT_EQ(rnic::fates().flushes, kImages / kStack) << "one for each stack";
}

TEST_P(RnicImages, are_old_ones_where_nobody_flushes) {
  bench_.images()->flushes = false;
  run();
  EXPECT_EQ(unit_.good, 0U) << "this is what the flush is for";
}

INSTANTIATE_TEST_SUITE_P(Transports, RnicImages, ::testing::Values(link::Transport::uc, link::Transport::rc),
                         [](const auto& param) { return param.param == link::Transport::uc ? "uc" : "rc"; });

}  // namespace
}  // namespace rashpa::receiver
