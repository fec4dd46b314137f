// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/cuda/streams/work_streams.hpp"

namespace rashpa::unit::cuda {

namespace {

/// The host launches every step, one after the other.
class Launch final : public Dispatch {
 public:
  Launch(const StackWork& work, int device) : work_(work), device_(device), streams_(work) {}
  cudaError_t submit(std::uint32_t slot, std::uint32_t /*ticket*/) noexcept override {
    // Kernels go to the current device of the thread, which must be the stream's.
    const cudaError_t code = cudaSetDevice(device_);
    if (code != cudaSuccess) return code;
    if (work_.any_to_process(slot)) return work_.enqueue(slot, streams_.of(slot));
    return work_.enqueue_without_images(slot, streams_.of(slot));
  }
  [[nodiscard]] cudaError_t look(std::uint32_t slot) const noexcept override { return streams_.look(slot); }
  void stop() noexcept override { streams_.wait_idle(kStopNs); }

 private:
  const StackWork& work_;
  int device_;
  WorkStreams streams_;
};

}  // namespace

std::unique_ptr<Dispatch> make_launch(const StackWork& work, int device) {
  return std::make_unique<Launch>(work, device);
}

}  // namespace rashpa::unit::cuda
