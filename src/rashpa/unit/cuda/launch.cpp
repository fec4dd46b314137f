#include "rashpa/unit/cuda/bench_streams.hpp"
#include "rashpa/unit/cuda/dispatch.hpp"

namespace rashpa::unit::cuda {

namespace {

/// The host launches every step, one after the other.
class Launch final : public Dispatch {
 public:
  explicit Launch(const StackWork& work) : work_(work), streams_(work) {}
  cudaError_t submit(std::uint32_t slot, std::uint32_t /*ticket*/) noexcept override {
    return work_.enqueue(slot, streams_.of(slot));
  }
  [[nodiscard]] cudaError_t look(std::uint32_t slot) const noexcept override { return streams_.look(slot); }
  void stop() noexcept override { streams_.wait_idle(kStopNs); }

 private:
  const StackWork& work_;
  BenchStreams streams_;
};

}  // namespace

std::unique_ptr<Dispatch> make_launch(const StackWork& work) { return std::make_unique<Launch>(work); }

}  // namespace rashpa::unit::cuda
