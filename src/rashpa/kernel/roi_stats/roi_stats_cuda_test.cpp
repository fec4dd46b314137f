// SPDX-License-Identifier: Apache-2.0
/// The kernel on a GPU against unit cpu: run by `make test-device`.
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#include "rashpa/kernel/testing/cuda_testing.hpp"

namespace rashpa::kernel::roi_stats {
namespace {

TEST(RoiStatsCuda, regions_of_every_type_are_summed_alike) {
  std::mt19937 random(test_seed());
  const auto step =
      step_of({"all=0,0,257,129; one=256,128,1,1; some=3,5,100,60; row=0,7,257,1; rows=0,2,257,100; line=9,0,1,129"});
  for (const PixelFormat format : opencl::photon_formats()) {
    SCOPED_TRACE(testing::Message() << pixel_name(format.type) << " up to " << format.largest_count
                                    << ", RASHPA_SEED=" << test_seed());
    const Shape shape{257, 129};
    auto images = opencl::random_images(random, format, shape.pixels(), 4);
    // Nothing but masked pixels.
    std::fill(images[2].begin(), images[2].end(), format.masked == Masked::maximum ? std::byte{0xFF} : std::byte{0x80});
    cuda::expect_as_cpu(*step, {shape, format, images});
  }
}

TEST(RoiStatsCuda, the_largest_sums_fit) {
  for (const PixelType type : photon_types()) {
    SCOPED_TRACE(pixel_name(type));
    const PixelFormat format = delivered(type);
    const Shape shape{20'000, 17};
    const auto step = step_of({"all=0,0,20000,17; most=0,0,19999,17; few=1,1,3,16"});
    const auto image = with_type(type, [&]<typename T>(T) {
      const std::vector<T> pixels(shape.pixels(), static_cast<T>(photon_range(format).most));
      const auto* bytes = reinterpret_cast<const std::byte*>(pixels.data());
      return std::vector<std::byte>(bytes, bytes + pixels.size() * sizeof(T));
    });
    cuda::expect_as_cpu(*step, {shape, format, {image}});
  }
}

}  // namespace
}  // namespace rashpa::kernel::roi_stats
