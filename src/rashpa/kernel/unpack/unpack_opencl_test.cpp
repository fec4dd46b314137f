// SPDX-License-Identifier: Apache-2.0
/// Unpacking on an OpenCL device against unit cpu.
#include "rashpa/kernel/testing/opencl_testing.hpp"
#include "rashpa/kernel/unpack/unpack.hpp"

namespace rashpa::kernel::unpack {
namespace {

class UnpackOpencl : public opencl::OpenclTest {};

TEST_F(UnpackOpencl, counters_of_every_kind_go_to_their_places) {
  std::mt19937 random(11);
  for (const Bits bits : {Bits::one, Bits::six, Bits::twelve, Bits::twenty_four}) {
    for (const Config& config : {Config{bits, 8, 1}, Config{bits, 264, 5}, Config{bits, 24, 3, 2, 3, 5, 2},
                                 Config{bits, 40, 2, 3, 1, 4, 0}, Config{bits, 16, 3, 2, 2, 0, 1}}) {
      SCOPED_TRACE(testing::Message() << count_of(bits) << " bits, " << config.modules_across << " x "
                                      << config.modules_down);
      std::vector<std::vector<std::byte>> images(3, std::vector<std::byte>(config.packed().pixels()));
      for (auto& image : images) {
        for (std::byte& byte : image) byte = static_cast<std::byte>(random());
      }
      opencl::expect_as_cpu(*device, *step_of(config), {config.packed(), delivered(PixelType::u8), images});
    }
  }
}

}  // namespace
}  // namespace rashpa::kernel::unpack
