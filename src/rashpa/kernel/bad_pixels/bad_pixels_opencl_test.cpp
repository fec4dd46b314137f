// SPDX-License-Identifier: Apache-2.0
/// The step on an OpenCL device against unit cpu.
#include "rashpa/kernel/bad_pixels/bad_pixels.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::bad_pixels {
namespace {

class BadPixelsOpencl : public opencl::OpenclTest {};

TEST_F(BadPixelsOpencl, pixels_of_every_type_and_number) {
  std::mt19937 random(11);
  for (const PixelType type : image_types()) {
    for (const Shape shape : {Shape{1, 1}, Shape{3, 5}, Shape{31, 33}, Shape{64, 64}, Shape{513, 77}}) {
      const PixelFormat format = delivered(type);
      SCOPED_TRACE(testing::Message() << pixel_name(type) << ", " << shape.width << " x " << shape.height
                                      << ", RASHPA_SEED=" << 11);
      Config config{.shape = shape};
      for (std::uint32_t pixel = 0; pixel < shape.pixels(); ++pixel) {
        if (random() % 5 == 0) config.bad.push_back(pixel);
      }
      std::vector<std::vector<std::byte>> images(3, std::vector<std::byte>(shape.pixels() * pixel_bytes(type)));
      for (auto& image : images) {
        for (std::byte& byte : image) byte = static_cast<std::byte>(random() % 100);
      }
      opencl::expect_as_cpu(*device, *step_of(config), {shape, format, images});
    }
  }
}

}  // namespace
}  // namespace rashpa::kernel::bad_pixels
