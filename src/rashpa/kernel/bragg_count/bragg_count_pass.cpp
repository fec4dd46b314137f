// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "rashpa/kernel/bragg_count/bragg_count_cuda.hpp"
#include "rashpa/kernel/device/settle_counts.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::bragg_count::cuda {

namespace {

class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(std::int32_t threshold, const Setup& setup) : threshold_(threshold), setup_(setup) {
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
      bright_.emplace_back(setup.stack * sizeof(std::uint32_t));
    }
  }
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    auto* const bright = bright_[bench].as<std::uint32_t>();
    cudaError_t code = cudaMemsetAsync(bright, 0, stack.count * sizeof(std::uint32_t), stream);
    const Batch batch{.images = stack.in,
                      .format = setup_.in,
                      .stride = stack.in_stride / pixel_bytes(setup_.in.type),
                      .pixels = static_cast<std::uint32_t>(setup_.shape.pixels()),
                      .work = stack.work,
                      .count = stack.count};
    if (code == cudaSuccess) code = count(batch, threshold_, bright, stream);
    if (code == cudaSuccess) code = kernel::cuda::settle_counts(stack, bright, stream);
    return code;
  }

 private:
  std::int32_t threshold_;
  Setup setup_;
  std::vector<memory::cuda::DeviceMemory> bright_;  // by bench
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(std::int32_t threshold, const Setup& setup) {
  return std::make_unique<Pass>(threshold, setup);
}

}  // namespace rashpa::kernel::bragg_count::cuda
