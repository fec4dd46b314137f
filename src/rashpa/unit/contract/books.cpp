// SPDX-License-Identifier: Apache-2.0
/// Every stack comes back, in order, and every image is accounted for: missing, dark, partial, errored, stopped.
#include <algorithm>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/image/fill.hpp"
#include "rashpa/unit/contract/bench.hpp"

namespace rashpa::unit {

using namespace contract;  // NOLINT(google-build-using-namespace): the bench of these tests

TEST_P(UnitContract, stacks_can_be_sent_again_and_again) {
  Bench bench(GetParam(), vetoing(), 3, 2);
  for (int round = 0; round < 100; ++round) bench.run_all();
  bench.expect_all_as_references();
}

TEST_P(UnitContract, one_image_a_stack) {
  Bench bench(GetParam(), vetoing(), 1, 7);
  for (int round = 0; round < 5; ++round) bench.run_all();
  bench.expect_all_as_references();
}

TEST_P(UnitContract, short_last_stack_is_processed) {
  Bench bench(GetParam(), vetoing(0));
  bench.ring.all[2].count = 1;
  bench.run_all();
  bench.expect_as_reference(bench.ring.all[2].images[0]);
  EXPECT_EQ(bench.ring.all[2].images[1].decision, Decision::none) << "behind the end: not touched";
}

TEST_P(UnitContract, missing_dark_and_partial_images_are_decided_without_conversion) {
  Recipe recipe = vetoing(0);
  recipe.partial = PartialPolicy::veto;
  Bench bench(GetParam(), recipe);
  auto& images = bench.ring.all[0].images;
  images[0].completeness = Completeness::missing;
  images[0].decision = Decision::accepted;  // of an earlier use of the stack
  images[0].scalars[0] = Scalar::of_count(7);
  images[1].flags = FrameRecord::dark | FrameRecord::laser;
  images[2].completeness = Completeness::partial;
  images[3].flags = FrameRecord::laser;
  bench.run_all();
  EXPECT_EQ(images[0].decision, Decision::none);
  EXPECT_EQ(images[1].decision, Decision::vetoed);
  EXPECT_EQ(bench.reason(images[1]), "dark");
  EXPECT_EQ(images[2].decision, Decision::vetoed);
  EXPECT_EQ(bench.reason(images[2]), "partial");
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_EQ(images[i].pixels, nullptr);
    EXPECT_FALSE(images[i].measured) << "nobody has looked at its pixels";
    EXPECT_EQ(images[i].scalars[0], Scalar{});
  }
  bench.expect_as_reference(images[3]);
  bench.expect_as_reference(images[4]);
}

TEST_P(UnitContract, darks_and_partial_images_are_kept_where_the_pipeline_says_so) {
  Recipe recipe = vetoing(0);
  recipe.keep_darks = true;
  Bench bench(GetParam(), recipe);
  auto& images = bench.ring.all[0].images;
  images[0].flags = FrameRecord::dark;
  images[1].completeness = Completeness::partial;
  std::fill_n(reinterpret_cast<std::uint16_t*>(images[1].raw) + 7 * kWidth, 2 * kWidth, kLostRaw);
  bench.run_all();
  EXPECT_EQ(images[0].decision, Decision::accepted);
  EXPECT_EQ(images[1].decision, Decision::accepted);
  EXPECT_GE(bench.scalar(images[1], "masked_pixels"), 2 * kWidth);
  bench.expect_as_reference(images[1]);
}

TEST_P(UnitContract, image_whose_list_is_full_is_errored_and_its_neighbours_are_not) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    Recipe recipe = full(0, 0.02);
    recipe.passes = passes;
    Bench bench(GetParam(), recipe);
    if (!bench.runs()) continue;
    bench.run_all();
    for (const Stack& stack : bench.ring.all) {
      for (std::uint32_t i = 0; i < stack.count; ++i) {
        const StackImage& image = stack.images[i];
        const bool spots = (stack.slot * stack.count + i) % 2 == 0;  // 3 % of the pixels, more than the capacity
        EXPECT_EQ(image.decision, spots ? Decision::errored : Decision::accepted);
        EXPECT_EQ(image.sparse.count, 0U) << "threshold 2 is above the background";
        EXPECT_EQ(image.pixels == nullptr, spots);
      }
    }
  }
}

TEST_P(UnitContract, stop_gives_every_stack_back_decided_or_errored) {
  for (int round = 0; round < 20; ++round) {
    Bench bench(GetParam(), vetoing(0), 2, 8);
    for (Stack& stack : bench.ring.all) bench.unit->submit(&stack);
    bench.unit->stop();
    bench.unit->stop();
    for (Stack& stack : bench.ring.all) {
      ASSERT_EQ(bench.unit->take(), &stack);
      for (const StackImage& image : stack.view()) {
        EXPECT_TRUE(image.decision == Decision::accepted || image.decision == Decision::errored);
      }
    }
    EXPECT_EQ(bench.unit->take(), nullptr);
  }
}

}  // namespace rashpa::unit
