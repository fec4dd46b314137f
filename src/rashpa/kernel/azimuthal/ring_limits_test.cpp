// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/azimuthal/testing.hpp"

namespace rashpa::kernel::azimuthal {
namespace {

TEST(AzimuthalLimits, the_ring_gets_other_limits_while_its_pass_works) {
  const Config config = test_rings({300, 200}, 50, Errors::none, false, false);
  const auto step = step_of(config);
  const kernel::Setup setup{
      .shape = {300, 200}, .in = delivered(PixelType::u16), .stack = 1, .places = 1, .workers = 1};
  const auto pass = step->on_cpu(setup);
  const std::vector<std::uint16_t> image(config.bins.size(), 10);
  const auto* const in = reinterpret_cast<const std::byte*>(image.data());
  const std::uint32_t place = 0;
  const auto verdict = [&] {
    pass->begin(1);
    pass->run(0, {.first = 0, .count = 1, .in = &in, .place = &place}, 0, image.size());
    Scalar mean;
    Finding finding{.scalars = &mean};
    pass->finish(0, finding);
    return finding.verdict;
  };
  const auto other = [&](double least, double most) {
    return step->with({{"poni", std::string("there.poni")}, {"min_intensity", least}, {"max_intensity", most}});
  };
  const auto adopt = [&](double least, double most) {
    LimitBytes limits = other(least, most)->limits(setup).value();
    able<Limited>(*pass)->adopt(limits);
  };
  EXPECT_EQ(verdict(), 0);
  adopt(100, 0);
  EXPECT_EQ(verdict(), 1);
  adopt(0, 0.001);
  EXPECT_EQ(verdict(), 2);
  adopt(0.001, 100);
  EXPECT_EQ(verdict(), 0);
  EXPECT_THROW(other(2, 1), ConfigError);
}

}  // namespace
}  // namespace rashpa::kernel::azimuthal
