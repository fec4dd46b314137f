// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/jungfrau/assembly/assembly_cuda.hpp"
#include "rashpa/kernel/jungfrau/cells.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking_cuda.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::jungfrau::cuda {

/// The step on a CUDA device. The unit's resident kernel may read its parts, and does the same work itself where images
/// are not assembled and pedestals are fixed.
class Pass final : public kernel::cuda::DevicePass, public kernel::cuda::Preparing {
 public:
  /// Makes the pass. `assembly` null: images stay as modules send them.
  Pass(const Config& config, const Assembly* assembly, const Taps& taps, const Setup& setup);
  void prepare(std::uint32_t place, const StackImage& image) noexcept override;
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept override;
  [[nodiscard]] bool in_turn() const override { return !trackers_.empty(); }
  [[nodiscard]] std::string failure() const override { return cells_.failure(); }
  [[nodiscard]] std::string notice() const override;
  [[nodiscard]] const Tables& tables() const noexcept { return sets_.front().tables(); }
  [[nodiscard]] Output output() const noexcept { return sets_.front().output(); }
  [[nodiscard]] const Taps& taps() const noexcept { return taps_; }

 private:
  Pass(const Config& config, const std::vector<Prepared>& sets, const Assembly* assembly, const Taps& taps,
       const Setup& setup);
  /// Enqueues the copy of each image's set number to the device; images without a set fail.
  cudaError_t take_sets(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
                        cudaStream_t stream) const noexcept;
  /// The images of a set, in the stack at `bench`.
  [[nodiscard]] SetImages of_set(std::uint32_t bench, std::size_t set) const noexcept;
  [[nodiscard]] Batch batch_of(const kernel::cuda::DeviceStack& stack, std::uint32_t bench) const noexcept;
  /// Enqueues the conversion of each image, and its following before the next one. There are no cells.
  cudaError_t convert_image_by_image(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
                                     cudaStream_t stream) const noexcept;
  cudaError_t convert_stack(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
                            cudaStream_t stream) const noexcept;

  Cells cells_;
  std::vector<Calibration> sets_;                       // by cell; one when the calibration has no cells
  std::optional<memory::cuda::PinnedMemory> set_of_;    // with cells: by place
  std::vector<memory::cuda::DeviceMemory> sets_there_;  // with cells, by bench: of each image its set, then room
  std::optional<DeviceAssembly> assembly_;
  std::deque<DeviceTracker> trackers_;  // by set; none when pedestals are fixed
  bool at_once_;                        // pedestals apply to the next image
  Taps taps_;
  std::vector<memory::cuda::DeviceMemory> counts_;  // by bench
};

inline std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Assembly* assembly,
                                                           const Taps& taps, const Setup& setup) {
  return std::make_unique<Pass>(config, assembly, taps, setup);
}

}  // namespace rashpa::kernel::jungfrau::cuda
