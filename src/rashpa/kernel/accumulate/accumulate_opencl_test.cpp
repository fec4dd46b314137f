// SPDX-License-Identifier: Apache-2.0
/// Accumulated images on an OpenCL device against unit cpu.
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::accumulate {
namespace {

class AccumulateOpencl : public opencl::OpenclTest {};

TEST_F(AccumulateOpencl, every_type_is_added_up_alike) {
  std::mt19937 random(3);
  for (const PixelFormat format : opencl::photon_formats()) {
    SCOPED_TRACE(testing::Message() << pixel_name(format.type) << " up to " << format.largest_count);
    const Shape shape{129, 67};
    opencl::expect_as_cpu(*device, *step_of({.variance = true}),
                          {shape, format, opencl::random_images(random, format, shape.pixels(), 5)});
  }
}

TEST_F(AccumulateOpencl, reals_are_within_what_is_stated) {
  if (!device->info().doubles) GTEST_SKIP() << "left out: the device has no double precision";
  std::mt19937 random(4);
  const Shape shape{65, 33};
  const PixelFormat format = delivered(PixelType::f32);
  opencl::expect_as_cpu(*device, *step_of({.variance = true}),
                        {shape, format, opencl::random_images(random, format, shape.pixels(), 9)}, 1e-10);
}

TEST_F(AccumulateOpencl, what_is_not_asked_for_is_not_there) {
  std::mt19937 random(5);
  for (const Config& config : {Config{.mean = false, .max = false}, Config{.sum = false, .mean = false},
                               Config{.sum = false, .max = false, .variance = true}}) {
    const PixelFormat format = delivered(PixelType::u16);
    opencl::expect_as_cpu(*device, *step_of(config), {{64, 5}, format, opencl::random_images(random, format, 320, 3)});
  }
}

}  // namespace
}  // namespace rashpa::kernel::accumulate
