// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/device_pass.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"
#include "rashpa/kernel/step.hpp"
#include "rashpa/unit/cuda/control.hpp"

namespace rashpa::unit::cuda {

using kernel::cuda::DeviceFinding;

/// Words of device memory by which the blocks of the resident kernel agree; 0 at start.
struct ResidentState {
  std::uint32_t go = 0;        ///< the last ticket that the host has triggered
  std::uint32_t end = 0;       ///< 1: leave
  std::uint32_t arrivals = 0;  ///< at barriers since the start, all blocks
};

/// Everything the resident kernel works with. Host memory is pinned; it is read past the caches.
struct ResidentTask {
  kernel::jungfrau::cuda::Tables tables;
  kernel::jungfrau::Output output = kernel::jungfrau::Output::photons;
  kernel::jungfrau::Taps taps{};
  std::uint32_t columns = 0;       ///< scalars of an image
  std::uint32_t first_column = 0;  ///< of jungfrau's
  bool veto = false;               ///< a count follows, as step 1
  kernel::CountTap count{};
  std::uint32_t count_column = 0;
  std::uint32_t stack = 0;
  std::uint32_t stacks = 0;
  std::uint32_t watchers = 1;                  ///< 1 … kWatchers
  Control* control = nullptr;                  ///< host
  SlotTrigger* triggers = nullptr;             ///< host, [stacks]
  const std::byte* images = nullptr;           ///< host, [stacks][stack], image_stride apart
  std::size_t image_stride = 0;                ///< bytes
  std::byte* out = nullptr;                    ///< device, [stack], out_stride apart
  std::byte* host_out = nullptr;               ///< host, [stacks][stack]
  std::size_t out_stride = 0;                  ///< bytes, a multiple of 16
  DeviceFinding* host_findings = nullptr;      ///< host, [stacks][stack]
  Scalar* host_scalars = nullptr;              ///< host, [stacks][stack][columns]
  Word* host_done = nullptr;                   ///< host, [stacks]
  kernel::jungfrau::Counts* counts = nullptr;  ///< device, [2][stack], 0
  std::uint32_t* work = nullptr;               ///< device, [stacks]: bit i, image i is to be processed
  ResidentState* state = nullptr;              ///< device
};

/// Starts the kernel; it ends when Control::abort is not 0. All of its blocks run at once or it is not started.
cudaError_t start_resident(const ResidentTask& task, cudaStream_t stream) noexcept;

}  // namespace rashpa::unit::cuda
