// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pedestals that follow the detector, on CUDA devices: the work of Tracker, bit for bit. Stacks come one after the
/// other (DevicePass::in_turn), whatever stream they are in.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::jungfrau::cuda {

/// The state that one stack leaves to the next, in device memory; begins with zeros.
struct TrackerState {
  std::uint64_t followed = 0;   ///< images, without those of the stack in hand
  std::uint64_t next_look = 0;  ///< when this many are
  std::uint32_t in_hand = 0;
  std::uint32_t looking = 0;
  std::uint32_t worst = 0;   ///< the bits of a float, of the look in hand
  std::uint32_t begun = 0;   ///< the stack in hand has images
  std::uint32_t looked = 0;  ///< 0: never; the bin of the median and 1
  float worst_looked = 0;
};

/// Describes how images are followed; does not change.
struct Following {
  float inverse = 0;       ///< float32(1/N)
  float square_limit = 0;  ///< of pixels that may have a photon: σ²
  bool where_empty = false;
  bool learned_only = false;  ///< of dark images nothing else is wanted
  std::uint32_t between_looks = 0;
  double alarm = 0;  ///< median drift in RMS; 0: none
};

class DeviceTracker {
 public:
  /// `calibration` was prepared from `config`. Throws as Tracker does, ResourceError when the device has no memory.
  DeviceTracker(const Config& config, const Prepared& calibration, const Setup& setup);

  /// Settles the changes of the stack before, and chooses the images of this stack that are followed. Call it before
  /// the pixels of a stack are converted.
  cudaError_t begin(const kernel::cuda::DeviceStack& stack, cudaStream_t stream) const noexcept;
  /// Follows the chosen images, behind their conversion. `pedestals`: of G0, pixel by pixel.
  cudaError_t follow(const kernel::cuda::DeviceStack& stack, float* pedestals, cudaStream_t stream) const noexcept;
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
