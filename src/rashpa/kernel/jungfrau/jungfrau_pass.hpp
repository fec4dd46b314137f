// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "rashpa/kernel/device_pass.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"
#include "rashpa/kernel/step.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::jungfrau::cuda {

/// The step on a CUDA device. What it is made of is open to the unit's resident kernel, which does the same work
/// itself.
class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const Config& config, const Taps& taps, const Setup& setup);
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept override;
  [[nodiscard]] const Tables& tables() const noexcept { return calibration_.tables(); }
  [[nodiscard]] Output output() const noexcept { return calibration_.output(); }
  [[nodiscard]] const Taps& taps() const noexcept { return taps_; }

 private:
  Calibration calibration_;
  Taps taps_;
  std::vector<memory::cuda::DeviceMemory> counts_;  // by bench
};

inline std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Taps& taps, const Setup& setup) {
  return std::make_unique<Pass>(config, taps, setup);
}

}  // namespace rashpa::kernel::jungfrau::cuda
