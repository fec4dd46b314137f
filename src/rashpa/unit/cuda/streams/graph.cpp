// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/streams/graph.hpp"

#include "rashpa/unit/cuda/dispatch.hpp"

namespace rashpa::unit::cuda {

SlotGraphs::SlotGraphs(const StackWork& work, const WorkStreams& streams, std::uint32_t stacks) {
  graphs_.reserve(stacks);
  for (std::uint32_t slot = 0; slot < stacks; ++slot) {
    const cudaStream_t stream = streams.of(slot);
    graphs_.emplace_back(stream, [&] { return work.enqueue(slot, stream); });
  }
  streams.wait_idle(Dispatch::kStopNs);  // uploaded
}

namespace {

/// The host launches one graph a stack; the steps themselves where no image is to be processed.
class GraphLaunch final : public Dispatch {
 public:
  GraphLaunch(const StackWork& work, std::uint32_t stacks, int device)
      : work_(work), device_(device), streams_(work), graphs_(work, streams_, stacks) {}
  cudaError_t submit(std::uint32_t slot, std::uint32_t /*ticket*/) noexcept override {
    // One thread submits to several devices.
    const cudaError_t code = cudaSetDevice(device_);
    if (code != cudaSuccess) return code;
    if (work_.any_to_process(slot)) return graphs_.launch(slot, streams_.of(slot));
    return work_.enqueue_without_images(slot, streams_.of(slot));
  }
  [[nodiscard]] cudaError_t look(std::uint32_t slot) const noexcept override { return streams_.look(slot); }
  void stop() noexcept override { streams_.wait_idle(kStopNs); }

 private:
  const StackWork& work_;
  int device_;
  WorkStreams streams_;
  SlotGraphs graphs_;
};

}  // namespace

std::unique_ptr<Dispatch> make_graph(const StackWork& work, std::uint32_t stacks, int device) {
  return std::make_unique<GraphLaunch>(work, stacks, device);
}

}  // namespace rashpa::unit::cuda
