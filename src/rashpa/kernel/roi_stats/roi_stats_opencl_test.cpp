// SPDX-License-Identifier: Apache-2.0
/// Statistics of regions on an OpenCL device against unit cpu.
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::roi_stats {
namespace {

class RoiStatsOpencl : public opencl::OpenclTest {};

TEST_F(RoiStatsOpencl, regions_of_every_type_are_summed_alike) {
  std::mt19937 random(13);
  const auto step = step_of({"all=0,0,257,129; one=256,128,1,1; some=3,5,100,60; row=0,7,257,1"});
  for (const PixelFormat format : opencl::photon_formats()) {
    SCOPED_TRACE(testing::Message() << pixel_name(format.type) << " up to " << format.largest_count);
    const Shape shape{257, 129};
    auto images = opencl::random_images(random, format, shape.pixels(), 3);
    // Nothing but masked pixels.
    std::fill(images[1].begin(), images[1].end(), format.masked == Masked::maximum ? std::byte{0xFF} : std::byte{0x80});
    opencl::expect_as_cpu(*device, *step, {shape, format, images});
  }
}

}  // namespace
}  // namespace rashpa::kernel::roi_stats
