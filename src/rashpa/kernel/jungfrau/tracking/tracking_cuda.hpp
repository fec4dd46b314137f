// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pedestals that follow the detector, on CUDA devices: the work of Tracker, bit for bit. Stacks come in order
/// (DevicePass::in_turn), in whatever stream they are.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::jungfrau::cuda {

/// The state that a stack leaves for the next one, in device memory; it begins as zeros.
struct TrackerState {
  std::uint64_t followed = 0;   ///< images followed before the present stack
  std::uint64_t next_look = 0;  ///< value of `followed` at which the drift is computed next
  std::uint32_t in_hand = 0;
  std::uint32_t looking = 0;
  std::uint32_t worst = 0;   ///< bits of a float: largest drift of the present computation
  std::uint32_t begun = 0;   ///< 1: the present stack has images to follow
  std::uint32_t looked = 0;  ///< 0: never computed; otherwise the median's bin plus 1
  float worst_looked = 0;
};

/// The constants by which images are followed.
struct Following {
  float inverse = 0;       ///< float32(1/N)
  float square_limit = 0;  ///< for pixels that may have a photon: σ²
  bool where_empty = false;
  bool every = false;         ///< where empty: in every image; false: in the first one of a stack
  bool learned_only = false;  ///< true: dark images are needed only for the pedestals
  std::uint32_t between_looks = 0;
  double alarm = 0;  ///< median drift in RMS; 0: none
};

/// The images of a stack whose pedestals a tracker follows: those whose set is `set`, all where there are no sets.
struct SetImages {
  const std::uint8_t* sets = nullptr;  ///< by image, in device memory
  std::uint8_t set = 0;
};

class DeviceTracker {
 public:
  /// Uploads the state. `calibration` was prepared from `config`, which has no cells. Throws as Tracker does, and
  /// ResourceError when the device has no memory.
  DeviceTracker(const Config& config, const Prepared& calibration, const Setup& setup);

  /// Applies the changes of the previous stack and selects the images of this stack to follow. Call it before the
  /// pixels of the stack are converted.
  cudaError_t begin(const kernel::cuda::DeviceStack& stack, const SetImages& of, cudaStream_t stream) const noexcept;
  /// Enqueues the following of the selected ones of images [first, last), after their conversion. `pedestals` are those
  /// of G0, pixel by pixel.
  cudaError_t follow(const kernel::cuda::DeviceStack& stack, std::uint32_t first, std::uint32_t last, float* pedestals,
                     cudaStream_t stream) const noexcept;
  /// Enqueues the computation of the drift when it is due, behind the last image of a stack.
  cudaError_t look_at(const float* pedestals, cudaStream_t stream) const noexcept;
  [[nodiscard]] const TrackerState* state() const noexcept { return state_.as<TrackerState>(); }
  [[nodiscard]] std::string notice() const;

 private:
  Following how_;
  std::uint32_t pixels_;
  memory::cuda::DeviceMemory state_, bins_, followed_;
  memory::cuda::DeviceMemory variances_, start_, inverse_sigma_;
  memory::cuda::PinnedMemory alarmed_;  // a double: the median drift, once there was an alarm
};

}  // namespace rashpa::kernel::jungfrau::cuda
