// SPDX-License-Identifier: Apache-2.0
/// A stack that the unit has begun before it was there has the results of one that came whole, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/azimuthal/testing.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/unit/beginning.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

constexpr std::uint32_t kWidth = 500, kHeight = 400, kStack = 5, kStacks = 3, kBins = 50;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

enum class Kernels : std::uint8_t { count, rings, both };

Pipeline pipeline(Kernels which) {
  const kernel::bragg_count::Config count{.threshold = 200, .min_pixels = 3000, .max_pixels = 100'000};
  const kernel::azimuthal::Config rings =
      kernel::azimuthal::test_rings({kWidth, kHeight}, kBins, kernel::azimuthal::Errors::poisson, false, false);
  if (which == Kernels::count) return {{count}};
  if (which == Kernels::rings) return {{rings}};
  return {{count, rings}};
}

/// The results of an image.
struct Made {
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  std::array<Scalar, kMostColumns> scalars{};
  std::vector<double> profile{};
  friend bool operator==(const Made&, const Made&) = default;
};

struct Form {
  Kernels kernels;
  unsigned threads;
};

class Early : public ::testing::TestWithParam<Form> {
 protected:
  Early() : unit_(make_unit({.cores = {GetParam().threads, -1}}, pipeline(GetParam().kernels), ring_.layout, bell_)) {}
  ~Early() override { unit_->stop(); }

  static void fill(Stack& stack, std::uint64_t number) {
    std::mt19937 random(static_cast<unsigned>(number));
    stack.number = number;
    for (std::uint32_t i = 0; i < kStack; ++i) {
      StackImage& image = stack.images[i];
      image.index = number * kStack + i;
      image.completeness = Completeness::complete;
      image.flags = 0;
      auto* const pixels = reinterpret_cast<std::uint16_t*>(image.raw);
      const std::uint32_t scale = i % 2 == 0 ? 0x1FFF : 0xFF;  // each second image has too few bright pixels
      for (std::size_t p = 0; p < kPixels; ++p) pixels[p] = static_cast<std::uint16_t>(random() & scale);
      pixels[number % kPixels] = 0xFFFF;  // masked
    }
  }
  Beginning& beginning() {
    auto* const able_one = able<Beginning>(*unit_);
    EXPECT_NE(able_one, nullptr);
    return *able_one;
  }
  /// Gives pixels to the unit as they come; bytes behind them are other ones.
  void give_early(Stack& stack, std::uint32_t image, std::size_t end) {
    std::byte* const raw = stack.images[image].raw;
    const std::size_t bytes = std::min(end, kPixels) * 2;
    std::vector<std::byte> rest(raw + bytes, raw + kPixels * 2);
    std::memset(raw + bytes, 0x77, rest.size());
    ASSERT_EVENTUALLY(beginning().begin_early(stack, image, end));
    ASSERT_EVENTUALLY(beginning().begin_early(stack, image, end));  // it answers when it has done them
    std::copy(rest.begin(), rest.end(), raw + bytes);
  }
  static std::vector<Made> finish(Unit& unit, Doorbell& bell, Stack& stack) {
    unit.submit(&stack);
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    Stack* back = nullptr;
    while ((back = unit.take()) == nullptr && std::chrono::steady_clock::now() < late) {
      bell.wait(bell.count(), std::chrono::milliseconds(1));
    }
    EXPECT_EQ(back, &stack);
    std::vector<Made> all;
    for (const StackImage& image : stack.view()) {
      Made made{.decision = image.decision, .reason = image.reason, .scalars = image.scalars, .profile = {}};
      if (const double* const values = image.profiles[0].values; values != nullptr) {
        made.profile.assign(values, values + std::size_t{4} * kBins);
      }
      all.push_back(std::move(made));
    }
    return all;
  }
  std::vector<Made> finish(Stack& stack) { return finish(*unit_, bell_, stack); }
  /// The results of the same stack when it comes whole.
  static std::vector<Made> truth(std::uint64_t number, void (*change)(Stack&) = nullptr) {
    StackRing ring(kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable);
    Doorbell bell;
    const auto unit = make_unit({}, pipeline(GetParam().kernels), ring.layout, bell);
    fill(ring.all[0], number);
    if (change != nullptr) change(ring.all[0]);
    std::vector<Made> made = finish(*unit, bell, ring.all[0]);
    unit->stop();
    return made;
  }

  Doorbell bell_;
  StackRing ring_{kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable};
  std::unique_ptr<Unit> unit_;
};

TEST_P(Early, parts_in_any_order_give_the_results_of_the_whole) {
  std::mt19937 random(5);
  bool accepted = false;
  bool vetoed = false;
  for (std::uint64_t number = 0; number < 12; ++number) {
    Stack& stack = ring_.all[number % kStacks];
    fill(stack, number);
    std::array<std::size_t, kStack> there{};
    for (unsigned part = 0; part < 3 * number; ++part) {
      const auto image = static_cast<std::uint32_t>(random() % kStack);
      there[image] = std::min(kPixels, there[image] + random() % (kPixels / 2));
      give_early(stack, image, number % 2 == 0 && there[image] == kPixels ? ~std::size_t{0} : there[image]);
    }
    const std::vector<Made> made = finish(stack);
    EXPECT_EQ(made, truth(number)) << "stack " << number;
    for (const Made& one : made) {
      accepted = accepted || one.decision == Decision::accepted;
      vetoed = vetoed || one.decision == Decision::vetoed;
    }
  }
  EXPECT_TRUE(accepted);
  EXPECT_EQ(vetoed, GetParam().kernels != Kernels::rings);
}

TEST_P(Early, whole_images_leave_nothing_to_be_done_for_the_first_step) {
  if (GetParam().kernels == Kernels::both) GTEST_SKIP() << "the second step reads them again";
  Stack& stack = ring_.all[0];
  fill(stack, 3);
  for (std::uint32_t image = 0; image < kStack; ++image) give_early(stack, image, kPixels);
  for (std::uint32_t image = 0; image < kStack; ++image) std::memset(stack.images[image].raw, 0x33, kPixels * 2);
  EXPECT_EQ(finish(stack), truth(3)) << "no pixel is read again";
}

TEST_P(Early, a_lost_or_dark_image_is_made_anew_without_what_was_begun) {
  for (const auto& change : {+[](Stack& stack) { stack.images[2].completeness = Completeness::missing; },
                             +[](Stack& stack) { stack.images[0].completeness = Completeness::partial; },
                             +[](Stack& stack) { stack.images[3].flags = FrameRecord::dark; },
                             +[](Stack& stack) { stack.count = kStack - 1; }}) {
    Stack& stack = ring_.all[1];
    fill(stack, 7);
    for (std::uint32_t image = 0; image < kStack; ++image) give_early(stack, image, kPixels / 2);
    change(stack);
    EXPECT_EQ(finish(stack), truth(7, change));
    stack.count = kStack;
    ring_.all[2].count = kStack;
    fill(ring_.all[2], 8);
    EXPECT_EQ(finish(ring_.all[2]), truth(8)) << "the next stack has nothing of it";
  }
}

std::string name_of(const ::testing::TestParamInfo<Form>& one) {
  constexpr const char* kNames[] = {"count", "rings", "both"};
  return std::string(kNames[static_cast<int>(one.param.kernels)]) + "_" + std::to_string(one.param.threads);
}

INSTANTIATE_TEST_SUITE_P(Pipelines, Early,
                         ::testing::Values(Form{Kernels::count, 1}, Form{Kernels::count, 3}, Form{Kernels::rings, 1},
                                           Form{Kernels::rings, 3}, Form{Kernels::both, 2}),
                         name_of);

TEST(EarlyOfOthers, is_refused_where_the_first_step_makes_pixels_or_there_is_none) {
  Doorbell bell;
  StackRing ring(kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable);
  const auto unit = make_unit({}, {}, ring.layout, bell);
  EXPECT_FALSE(able<Beginning>(*unit)->begin_early(ring.all[0], 0, kPixels));
  unit->stop();
}

}  // namespace
}  // namespace rashpa::unit
