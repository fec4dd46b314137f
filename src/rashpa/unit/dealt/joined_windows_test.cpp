// SPDX-License-Identifier: Apache-2.0
/// Windows that several members add up: members are units on processors, so that every part of it is real but the
/// devices; and members that are made up, where they fail.
#include "rashpa/unit/dealt/joined_windows.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/azimuthal/testing.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/dealt/dealt_unit.hpp"
#include "rashpa/unit/dealt/sharing.hpp"
#include "rashpa/unit/dealt/windows_testing.hpp"
#include "rashpa/unit/factory.hpp"

namespace rashpa::unit {
namespace {

namespace sums = windows_testing;
using kernel::accumulate::Config;

/// Units on processors that share the pipeline.
sums::Make units(std::uint32_t members) {
  return [members](const Pipeline& pipeline, const Layout& layout, Doorbell& bell) -> std::unique_ptr<Unit> {
    Sharing sharing = sharing_of(pipeline, layout);
    auto windows = std::make_unique<JoinedWindows>(sharing.output.results, layout, members,
                                                   std::make_unique<HostJoiner>(sharing.joins, members, ""));
    const auto make = [&](std::uint32_t /*number*/, Doorbell& finished) {
      return make_unit({}, sharing.part, layout, finished);
    };
    return std::make_unique<DealtUnit>(members, layout.stacks, bell, make, std::move(windows));
  };
}

class JoinedWindowsOf : public testing::TestWithParam<std::uint32_t> {
 protected:
  static void expect_as_one(const Pipeline& pipeline, std::uint32_t images, double reals = 0,
                            PixelType pixel = PixelType::u16) {
    sums::expect_as_one(units(GetParam()), pipeline, images, reals, pixel);
  }
};

TEST_P(JoinedWindowsOf, integers_are_those_of_one_unit) {
  const kernel::total_counts::Config some{.max_counts = 95'000};
  for (const std::int64_t window : {0, 4, 8, 12, 20, 40}) {
    SCOPED_TRACE(window);
    expect_as_one({{some, Config{.variance = true, .window = window}}}, 38);
    expect_as_one({{Config{.variance = true, .window = window}}}, 40);
  }
}

TEST_P(JoinedWindowsOf, a_run_shorter_than_the_members_is_one_window) {
  for (const std::uint32_t images : {1U, 4U, 5U}) expect_as_one({{Config{.window = 40}}}, images);
}

TEST_P(JoinedWindowsOf, reals_are_those_of_one_unit_within_rounding) {
  // Sums are of a thousand, so that 1e-12 of them is 50 times what an addition rounds; squared distances are of the
  // difference of such numbers.
  expect_as_one({{Config{.window = 16}}}, 38, 1e-12, PixelType::f32);
  expect_as_one({{Config{.variance = true}}}, 38, 1e-9, PixelType::f32);
}

TEST_P(JoinedWindowsOf, profiles_and_images_have_windows_of_their_own) {
  kernel::azimuthal::Config rings = kernel::azimuthal::test_rings({sums::kWidth, sums::kHeight}, 20,
                                                                  kernel::azimuthal::Errors::poisson, false, false);
  rings.added = kernel::azimuthal::Added::reached;
  rings.window = 12;
  const Config all{.variance = true, .window = 8, .images = kernel::accumulate::Images::reached};
  expect_as_one({{all, rings}}, 38, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Members, JoinedWindowsOf, testing::Values(2, 3, 7));

/// A member whose sum of a window is the number of stacks that it has had; it finishes what it has at once.
class Counting final : public Unit {
 public:
  explicit Counting(Doorbell& bell) : bell_(bell) {}
  void submit(Stack* stack) noexcept override {
    had_ += stack->images[0].completeness == Completeness::complete ? 1 : 0;
    stack->accumulated = {};
    if (why.empty() && (stack->number + 1) % 4 == 0) {
      sums_.push_back(had_);
      had_ = 0;
      stack->accumulated[0] = {
          {reinterpret_cast<const std::byte*>(&sums_.back())}, stack->number / 4, 0, 1, sums_.back()};
    }
    done_.push_back(stack);
    bell_.ring();
  }
  Stack* take() noexcept override {
    if (done_.empty()) return nullptr;
    Stack* const stack = done_.front();
    done_.pop_front();
    return stack;
  }
  void stop() noexcept override {}
  [[nodiscard]] const Output& output() const noexcept override { return output_; }
  [[nodiscard]] std::string how() const override { return "counting"; }
  [[nodiscard]] std::optional<Busy> busy() const override { return {}; }
  [[nodiscard]] std::string error() const override { return why; }

  std::string why;

 private:
  Doorbell& bell_;
  Output output_;
  std::uint64_t had_ = 0;
  std::deque<std::uint64_t> sums_;
  std::deque<Stack*> done_;
};

/// Adds their sums; may break.
class Adding final : public Joiner {
 public:
  explicit Adding(bool& broken) : broken_(broken) {}
  bool join(std::size_t /*number*/, std::span<const kernel::AccumulatedArrays> parts,
            const kernel::AccumulatedArrays& to) noexcept override {
    std::uint64_t sum = 0;
    for (const kernel::AccumulatedArrays& one : parts) {
      if (one[0] != nullptr) sum += *reinterpret_cast<const std::uint64_t*>(one[0]);
    }
    std::memcpy(to[0], &sum, sizeof(sum));
    return !broken_;
  }
  [[nodiscard]] std::string how() const override { return "added"; }
  [[nodiscard]] std::string trouble() const override { return broken_ ? "the adder broke" : ""; }

 private:
  bool& broken_;
};

struct Failing {
  static constexpr std::uint32_t kRing = 16;
  Failing() : stacks(kRing) {
    Results results{};
    results.accumulations.push_back(
        {.name = "count", .quantities = {{.name = "stacks", .type = Quantity::Type::i64}}, .shape = {1}, .window = 4});
    const Layout layout{1, 1, PixelType::u16, 1, kRing};
    unit = std::make_unique<DealtUnit>(
        2, kRing, bell,
        [&](std::uint32_t /*number*/, Doorbell& finished) {
          auto made = std::make_unique<Counting>(finished);
          members.push_back(made.get());
          return made;
        },
        std::make_unique<JoinedWindows>(results, layout, 2, std::make_unique<Adding>(broken)));
    for (std::uint32_t s = 0; s < kRing; ++s) {
      stacks[s].slot = s;
      stacks[s].number = s;
      stacks[s].count = 1;
      stacks[s].images.resize(1);
      stacks[s].images[0].completeness = Completeness::complete;
    }
  }
  /// The content of the window that ends with the next four stacks; 0: it is not handed out.
  std::uint64_t next_window() {
    std::uint64_t sum = 0;
    for (int i = 0; i < 4; ++i) unit->submit(&stacks[submitted++]);
    for (int i = 0; i < 4; ++i) {
      Stack* const stack = unit->take();
      EXPECT_EQ(stack, &stacks[taken++]);
      const AccumulatedView& view = stack->accumulated[0];
      if (view.ended()) sum = *reinterpret_cast<const std::uint64_t*>(view.values[0]);
    }
    return sum;
  }
  std::vector<Stack> stacks;
  std::uint32_t submitted = 0, taken = 0;
  bool broken = false;
  Doorbell bell;
  std::vector<Counting*> members;
  std::unique_ptr<DealtUnit> unit;
};

TEST(JoinedWindows, a_window_that_a_failed_member_owes_is_lost_and_said) {
  Failing of;
  EXPECT_EQ(of.next_window(), 4U);
  EXPECT_EQ(of.unit->how(), "2 devices: counting; counting; added");
  for (int i = 0; i < 2; ++i) of.unit->submit(&of.stacks[of.submitted++]);  // one each
  of.members[1]->why = "device 1: fell off the bus";
  for (int i = 0; i < 2; ++i) of.unit->submit(&of.stacks[of.submitted++]);
  for (int i = 0; i < 4; ++i) {
    Stack* const stack = of.unit->take();
    ASSERT_EQ(stack, &of.stacks[of.taken++]);
    EXPECT_FALSE(stack->accumulated[0].ended());
  }
  EXPECT_EQ(of.unit->notice(),
            "device 1: fell off the bus; the others go on; 1 window of count lost with what devices had added to it");
  EXPECT_EQ(of.next_window(), 4U) << "the other member has all of it";
  EXPECT_EQ(of.unit->error(), "");
}

TEST(JoinedWindows, what_breaks_the_joiner_is_said) {
  Failing of;
  of.broken = true;
  EXPECT_EQ(of.next_window(), 0U);
  EXPECT_EQ(of.unit->notice(), "1 window of count lost with what devices had added to it; the adder broke");
}

TEST(JoinedWindows, the_bell_rings_once_more_for_a_shadow) {
  Failing of;
  EXPECT_EQ(of.next_window(), 4U);
  EXPECT_EQ(of.bell.count(), 5U);
}

}  // namespace
}  // namespace rashpa::unit
