// SPDX-License-Identifier: Apache-2.0
/// The kernel on a GPU against unit cpu: run by `make test-device`.
#include "rashpa/kernel/testing/cuda_testing.hpp"
#include "rashpa/kernel/unpack/unpack.hpp"

namespace rashpa::kernel::unpack {
namespace {

TEST(UnpackCuda, counters_of_every_kind_go_to_their_places) {
  std::mt19937 random(test_seed());
  for (const Bits bits : {Bits::one, Bits::six, Bits::twelve, Bits::twenty_four}) {
    for (const Config& config :
         {Config{bits, 8, 1}, Config{bits, 264, 5}, Config{bits, 264, 105, 2, 2}, Config{bits, 24, 3, 2, 3, 5, 2},
          Config{bits, 40, 2, 3, 1, 4, 0}, Config{bits, 16, 3, 2, 2, 0, 1}, Config{bits, 256, 64, 3, 2, 16, 37},
          Config{bits, 8, 4, 3, 2, 5, 1}, Config{bits, 40, 3, 3, 2, 3, 3}, Config{bits, 24, 5, 3, 2, 30, 0},
          Config{bits, 512, 20, 4, 2, 3, 3}}) {
      SCOPED_TRACE(testing::Message() << count_of(bits) << " bits, " << config.modules_across << " x "
                                      << config.modules_down << ", RASHPA_SEED=" << test_seed());
      std::vector<std::vector<std::byte>> images(4, std::vector<std::byte>(config.packed().pixels()));
      for (auto& image : images) {
        for (std::byte& byte : image) byte = static_cast<std::byte>(random());
      }
      cuda::expect_as_cpu(*step_of(config), {config.packed(), delivered(PixelType::u8), images});
    }
  }
}

}  // namespace
}  // namespace rashpa::kernel::unpack
