// SPDX-License-Identifier: Apache-2.0
/// The results of every unit: pixels, lists and verdicts of the plain references, fused and apart.
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/unit/contract/bench.hpp"

namespace rashpa::unit {

using namespace contract;  // NOLINT(google-build-using-namespace): the bench of these tests

TEST_P(UnitContract, the_full_pipeline_gives_what_the_references_give) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    for (const Delivery delivery : {Delivery::everything, Delivery::list_in_place, Delivery::chunk_in_place}) {
      Recipe recipe = full();
      recipe.passes = passes;
      recipe.delivery = delivery;
      Bench bench(GetParam(), recipe);
      if (!bench.runs()) continue;
      bench.run_all();
      bench.expect_all_as_references();
      for (const Stack& stack : bench.ring.all) EXPECT_GT(stack.decided_ns, 0);
    }
  }
}

TEST_P(UnitContract, verdicts_are_those_of_the_references_fused_and_apart) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    Recipe recipe = vetoing();
    recipe.passes = passes;
    Bench bench(GetParam(), recipe);
    if (!bench.runs()) continue;
    bench.run_all();
    bench.expect_all_as_references();
    std::uint32_t accepted = 0;
    for (const Stack& stack : bench.ring.all) {
      for (const StackImage& image : stack.view()) accepted += image.decision == Decision::accepted ? 1 : 0;
    }
    EXPECT_EQ(accepted, 8U) << "images 0, 2, 4, … have spots";
  }
}

TEST_P(UnitContract, chunks_in_place_of_pixels_are_of_these_pixels_where_the_unit_makes_any) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    for (const bool veto : {true, false}) {
      Recipe recipe = vetoing();
      if (!veto) recipe.veto.reset();
      recipe.passes = passes;
      recipe.delivery = Delivery::chunk_in_place;
      Bench bench(GetParam(), recipe);
      if (!bench.runs()) continue;
      const Output& output = bench.unit->output();
      EXPECT_NE(output.pixels, output.chunked);
      bench.run_all();
      bench.expect_all_as_references();
    }
  }
}

TEST_P(UnitContract, lists_without_a_verdict_are_those_of_the_references) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    Bench bench(GetParam(),
                {.conversion = calibration(jungfrau::Output::photons), .list = csr::Config{1, 0.9}, .passes = passes});
    if (!bench.runs()) continue;
    bench.run_all();
    for (const Stack& stack : bench.ring.all) {
      for (const StackImage& image : stack.view()) {
        ASSERT_EQ(image.decision, Decision::accepted);
        bench.expect_as_reference(image);
      }
    }
  }
}

TEST_P(UnitContract, photons_of_any_integer_type_need_no_conversion) {
  for (const PixelType type : kernel::photon_types()) {
    for (const Delivery delivery : {Delivery::everything, Delivery::list_in_place}) {
      SCOPED_TRACE(pixel_name(type));
      Bench bench(GetParam(), {.veto = bragg_count::Config{10, 100, 100'000},
                               .list = csr::Config{1, 0.9},
                               .input = type,
                               .delivery = delivery});
      if (!bench.runs()) continue;
      EXPECT_EQ(bench.unit->output().pixel, type);
      bench.run_all();
      bench.expect_all_as_references();
    }
  }
}

TEST_P(UnitContract, special_values_of_the_detector_are_no_photons) {
  for (const PixelType type : kernel::photon_types()) {
    SCOPED_TRACE(pixel_name(type));
    Bench bench(GetParam(), {.veto = bragg_count::Config{10, 100, 100'000},
                             .list = csr::Config{1, 0.9},
                             .input = type,
                             .largest_count = 60});
    if (!bench.runs()) continue;
    EXPECT_TRUE(bench.unit->output().delivered);
    bench.run_all();
    bench.expect_all_as_references();
    for (const Stack& stack : bench.ring.all) {
      for (const StackImage& image : stack.view()) {
        kernel::with_type(type, [&]<typename T>(T) {
          const auto* values = static_cast<const T*>(image.sparse.value);
          for (std::uint32_t i = 0; i < image.sparse.count; ++i) EXPECT_TRUE(values[i] >= 1 && values[i] <= 60);
        });
      }
    }
  }
}

TEST_P(UnitContract, kev_output_is_the_reference_bit_for_bit) {
  Bench bench(GetParam(), {.conversion = calibration(jungfrau::Output::kev)});
  if (!bench.runs()) return;
  EXPECT_EQ(bench.unit->output().pixel, PixelType::f32);
  bench.run_all();
  bench.expect_all_as_references();
}

TEST_P(UnitContract, columns_and_reasons_are_named) {
  Bench bench(GetParam(), vetoing());
  const Results& results = bench.unit->output().results;
  std::vector<std::string> names;
  for (const Column& column : results.columns) names.push_back(column.name);
  EXPECT_EQ(names, (std::vector<std::string>{"masked_pixels", "saturated_pixels", "bright_pixels"}));
  EXPECT_EQ(results.reasons.names(), VetoReasons().names());
}

}  // namespace rashpa::unit
