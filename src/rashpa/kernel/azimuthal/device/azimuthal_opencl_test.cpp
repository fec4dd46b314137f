// SPDX-License-Identifier: Apache-2.0
/// Azimuthal integration on an OpenCL device against unit cpu: models of errors, split pixels, real numbers, many bins,
/// sums over images.
#include "rashpa/kernel/azimuthal/testing.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::azimuthal {
namespace {

constexpr Shape kShape{97, 61};

Config rings(std::size_t bins, Errors errors, bool split, bool dark) {
  return test_rings(kShape, bins, errors, split, dark);
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
