#include "rashpa/unit/steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/jungfrau/synthetic.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
using kernel::bragg_count::Config;
using Csr = kernel::csr::Config;

const Layout kLayout{16, 8, PixelType::u16, 2, 2};

jungfrau::Config photons() { return jungfrau::synthetic::config(16, 8, jungfrau::Output::photons, 1); }
jungfrau::Config kev() { return jungfrau::synthetic::config(16, 8, jungfrau::Output::kev, 1); }

std::string refusal(std::vector<KernelConfig> kernels, const Layout& layout = kLayout) {
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
}

TEST(Steps, pipelines_that_do_not_fit_are_refused_with_what_to_do) {
  const auto says = [](const char* text) { return testing::HasSubstr(text); };
  EXPECT_THAT(refusal({Config{}}), says("bragg_count needs photons: put jungfrau before it"));
  EXPECT_THAT(refusal({Csr{}, photons()}), says("csr needs photons: put jungfrau before it"));
  EXPECT_THAT(refusal({kev(), Config{}}), says("bragg_count counts photons, but jungfrau makes keV"));
  EXPECT_THAT(refusal({kev(), Csr{}}), says("csr counts photons, but jungfrau makes keV"));
  EXPECT_THAT(refusal({photons(), Csr{}, Config{}}), says("bragg_count stands behind csr"));
  EXPECT_THAT(refusal({photons(), photons()}), says("jungfrau is twice"));
  EXPECT_THAT(refusal({photons(), Config{}, Config{}}), says("bragg_count is twice"));
  EXPECT_THAT(refusal({photons(), Csr{}, Csr{}}), says("csr is twice"));
  EXPECT_THAT(refusal({photons(), Config{1, 5, 4}}), says("min_pixels 5 is above max_pixels 4"));
  EXPECT_THAT(refusal({photons(), Csr{1, 2.0}}), says("capacity is 2"));
  EXPECT_THAT(refusal({photons()}, {16, 8, PixelType::i32, 2, 2}), says("needs uint16 pixels, the buffer has int32"));
  EXPECT_THAT(refusal({photons()}, {8, 16, PixelType::u16, 2, 2}), says("16 × 8 pixels, the buffer's image 8 × 16"));
  EXPECT_THAT(refusal({}, {16, 8, PixelType::u16, 0, 2}), says("none may be 0"));
  EXPECT_THAT(refusal({}, {70000, 70000, PixelType::u16, 1, 2}), says("too large"));
}

TEST(Steps, output_type_follows_the_conversion) {
  EXPECT_EQ(steps_of({}, {16, 8, PixelType::u32, 2, 2}).output, PixelType::u32);
  EXPECT_EQ(steps_of({{photons()}, PartialPolicy::keep, false}, kLayout).output, PixelType::i16);
  EXPECT_EQ(steps_of({{kev()}, PartialPolicy::keep, false}, kLayout).output, PixelType::f32);
}

}  // namespace
}  // namespace rashpa::unit
