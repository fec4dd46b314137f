// SPDX-License-Identifier: Apache-2.0
/// Azimuthal integration on an OpenCL device against unit cpu: models of errors, split pixels, real numbers, many bins,
/// sums over images.
#include <cmath>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/opencl_testing.hpp"

namespace rashpa::kernel::azimuthal {
namespace {

constexpr Shape kShape{97, 61};

Config rings(std::size_t bins, Errors errors, bool split, bool dark) {
  std::mt19937 random(3);
  Config config{.errors = errors};
  config.width = kShape.width;
  for (std::size_t bin = 0; bin < bins; ++bin) config.radial_axis.push_back(0.5 + static_cast<double>(bin));
  for (std::size_t pixel = 0; pixel < kShape.pixels(); ++pixel) {
    const double x = static_cast<double>(pixel % kShape.width) - 40, y = static_cast<double>(pixel / kShape.width) - 30;
    const auto bin = static_cast<std::uint32_t>(std::hypot(x, y) / 70 * static_cast<double>(bins));
    const bool gap = pixel % 41 == 0 || bin >= bins;
    config.norm.push_back(gap ? 0.0F : 0.5F + static_cast<float>(random() % 100) * 0.01F);
    if (dark) config.dark.push_back(static_cast<float>(pixel % 3) * 0.25F);
    if (!split) {
      config.bins.push_back(gap ? kNoBin : bin);
      continue;
    }
    for (std::uint32_t i = 0; !gap && i < 1 + pixel % 3 && bin + i < bins; ++i) {
      config.share_bins.push_back(bin + i);
      config.shares.push_back(0.01F + static_cast<float>(random() % 100) / 300.0F);
    }
    config.share_ends.push_back(static_cast<std::uint32_t>(config.shares.size()));
  }
  return config;
}

class AzimuthalOpencl : public opencl::OpenclTest {
 protected:
  void SetUp() override {
    OpenclTest::SetUp();
    if (device != nullptr && !device->info().doubles) GTEST_SKIP() << "left out: the device has no double precision";
  }
  void expect_as_cpu(const Config& config, PixelFormat format) {
    SCOPED_TRACE(testing::Message() << pixel_name(format.type) << ", " << config.radial_axis.size() << " bins, errors "
                                    << static_cast<int>(config.errors) << (config.bins.empty() ? ", split" : ""));
    opencl::expect_as_cpu(*device, *step_of(config),
                          {kShape, format, opencl::random_images(random, format, kShape.pixels(), 3)}, 1e-9);
  }
  std::mt19937 random{29};
};

TEST_F(AzimuthalOpencl, every_model_of_errors_gives_the_same_profiles) {
  for (const Errors errors : {Errors::none, Errors::poisson, Errors::azimuthal}) {
    for (const bool split : {false, true}) {
      expect_as_cpu(rings(20, errors, split, errors != Errors::none), delivered(PixelType::u16));
    }
  }
}

TEST_F(AzimuthalOpencl, pixels_of_other_types_are_summed_alike) {
  expect_as_cpu(rings(7, Errors::poisson, false, false), {PixelType::i16, Masked::minimum});
  expect_as_cpu(rings(3000, Errors::poisson, false, false), delivered(PixelType::u32));
  expect_as_cpu(rings(9, Errors::poisson, false, false), delivered(PixelType::f32));
}

TEST_F(AzimuthalOpencl, rings_are_judged_and_profiles_added_up) {
  Config config = rings(20, Errors::poisson, false, true);
  config.added = Added::accepted;
  config.ring_min = 3;
  config.ring_max = 9;
  expect_as_cpu(config, delivered(PixelType::u8));
  config.min_intensity = 1e9;
  expect_as_cpu(config, delivered(PixelType::u8));
}

}  // namespace
}  // namespace rashpa::kernel::azimuthal
