// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/veto/veto.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
using kernel::bragg_count::Config;
using Csr = kernel::csr::Config;
using Veto = kernel::veto::Config;

const Layout kLayout{16, 8, PixelType::u16, 2, 2};

jungfrau::Config photons() { return jungfrau::synthetic::config(16, 8, jungfrau::Output::photons, 1); }
jungfrau::Config kev() { return jungfrau::synthetic::config(16, 8, jungfrau::Output::kev, 1); }

std::string refusal(std::vector<kernel::StepOf> kernels, const Layout& layout = kLayout) {
  try {
    static_cast<void>(steps_of(Pipeline{std::move(kernels), PartialPolicy::keep, false}, layout));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Steps, pipelines_that_fit_are_accepted) {
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(refusal({photons()}), "accepted");
  EXPECT_EQ(refusal({kev()}), "accepted");
  EXPECT_EQ(refusal({photons(), Config{}, Csr{}}), "accepted");
  EXPECT_EQ(refusal({photons(), Csr{}}), "accepted");
  EXPECT_EQ(refusal({Config{}, Csr{}}), "accepted") << "a detector that delivers photons";
  EXPECT_EQ(refusal({Csr{}}, {16, 8, PixelType::u32, 2, 2}), "accepted");
}

TEST(Steps, pipelines_that_do_not_fit_are_refused_with_what_to_do) {
  const auto says = [](const char* text) { return testing::HasSubstr(text); };
  const Layout reals{16, 8, PixelType::f32, 2, 2};
  EXPECT_THAT(refusal({Config{}}, reals), says("bragg_count needs uint8, uint16, uint32, int16, int32 pixels, "
                                               "the buffer has float32; set the buffer's pixel"));
  EXPECT_THAT(refusal({Csr{}, photons()}), says("jungfrau stands behind csr; put it before"));
  EXPECT_THAT(refusal({kev(), Config{}}), says("bragg_count needs uint8, uint16, uint32, int16, int32 pixels, "
                                               "jungfrau makes float32; change what jungfrau makes"));
  EXPECT_THAT(refusal({kev(), Csr{}}), says("jungfrau makes float32; change what jungfrau makes"));
  EXPECT_THAT(refusal({Config{300}}, {16, 8, PixelType::u8, 2, 2}),
              says("threshold: 300 is above the largest value of uint8 pixels"));
  EXPECT_THAT(refusal({photons(), Csr{}, Config{}}), says("bragg_count stands behind csr"));
  EXPECT_THAT(refusal({photons(), photons()}), says("jungfrau is twice"));
  EXPECT_THAT(refusal({photons(), Config{}, Config{}}), says("bragg_count is twice"));
  EXPECT_THAT(refusal({photons(), Csr{}, Csr{}}), says("csr is twice"));
  EXPECT_THROW(static_cast<void>(kernel::StepOf(Config{1, 5, 4})), ConfigError);
  EXPECT_THROW(static_cast<void>(kernel::StepOf(Csr{1, 2.0})), ConfigError);
  EXPECT_THAT(refusal({photons()}, {16, 8, PixelType::i32, 2, 2}),
              says("jungfrau needs uint16 pixels, the buffer has int32"));
  EXPECT_THAT(refusal({photons()}, {8, 16, PixelType::u16, 2, 2}), says("16 × 8 pixels, the buffer's image 8 × 16"));
  EXPECT_THAT(refusal({}, {16, 8, PixelType::u16, 0, 2}), says("has a 0"));
  EXPECT_THAT(refusal({}, {70000, 70000, PixelType::u16, 1, 2}), says("too large"));
}

TEST(Steps, rules_name_columns_of_the_steps_before_them) {
  const auto says = [](const char* text) { return testing::HasSubstr(text); };
  const Veto bright{"bright_pixels > 3", "weak"};
  const Veto masked{"masked_pixels < 3", "covered"};
  EXPECT_EQ(refusal({photons(), Config{}, bright, masked, Csr{}}), "accepted") << "rules may come several times";
  EXPECT_THAT(refusal({photons(), bright, Config{}}),
              says("kernel veto: keep: no step before it makes the column bright_pixels; there are masked_pixels, "
                   "saturated_pixels"));
  EXPECT_THAT(refusal({bright}), says("put it behind one that makes columns"));
  EXPECT_THAT(refusal({photons(), Csr{}, masked}), says("veto stands behind csr; put it before"));
  const Steps steps = steps_of({{kev(), masked}, PartialPolicy::keep, false}, kLayout);
  EXPECT_EQ(steps.output.results.reasons.names().back(), "covered");
  EXPECT_EQ(steps.decided, 2U);
}

TEST(Steps, output_follows_the_steps) {
  const auto output = [](std::vector<kernel::StepOf> kernels, PixelType input = PixelType::u16) {
    return steps_of({std::move(kernels), PartialPolicy::keep, false}, {16, 8, input, 2, 2}).output;
  };
  EXPECT_EQ(output({}, PixelType::u32).pixel, PixelType::u32);
  EXPECT_EQ(output({photons()}).pixel, PixelType::i16);
  EXPECT_EQ(output({kev()}).pixel, PixelType::f32);
  EXPECT_EQ(output({Csr{1, 0.5}}, PixelType::u8).list_capacity, 64U);
  const Results results = output({photons(), Config{}}).results;
  ASSERT_EQ(results.columns.size(), 3U);
  EXPECT_EQ(results.columns[2].name, "bright_pixels");
  EXPECT_EQ(results.reasons.names(), (std::vector<std::string>{"none", "too_few", "too_many", "dark", "partial"}))
      << "as files have numbered them from the beginning";
}

TEST(Steps, steps_ride_on_the_conversion_where_they_can) {
  const Layout layout{16, 8, PixelType::u16, 2, 2};
  Pipeline pipeline{{photons(), Config{5, 1, 9}, Csr{2}}, PartialPolicy::keep, false};
  const Steps fused = steps_of(pipeline, layout);
  EXPECT_EQ(fused.steps[0].count_at, 5);
  EXPECT_EQ(fused.steps[0].mark_at, 2);
  EXPECT_TRUE(fused.steps[1].rides);
  EXPECT_TRUE(fused.steps[2].marked);
  EXPECT_EQ(fused.words(), "jungfrau, bragg_count (counted on the way), csr (by marks)");
  pipeline.passes = Passes::separate;
  EXPECT_EQ(steps_of(pipeline, layout).words(), "jungfrau, bragg_count, csr");
  EXPECT_EQ(steps_of({{Config{}, Csr{}}, PartialPolicy::keep, false}, layout).words(), "bragg_count, csr")
      << "nothing converts";
}

}  // namespace
}  // namespace rashpa::unit
