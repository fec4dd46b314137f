// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps of a stack that belong to no kernel: turns of work that is done stack by stack, and results that leave the
/// device.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/unit/cuda/control.hpp"

namespace rashpa::unit::cuda {

using kernel::cuda::DeviceFinding;

/// Stores accepted images, all findings and all scalars in host memory, and the order's ticket behind them; clears
/// findings and scalars on the device for the next stack. A last step that is nothing but a count is decided on the
/// way: a kernel of its own would cost a small stack more than its work.
struct Deliver {
  Order* order = nullptr;   ///< of the device, with its work as the steps have left it
  std::uint32_t stack = 0;  ///< images
  DeviceFinding* findings = nullptr;
  Scalar* scalars = nullptr;  ///< [stack][columns]
  std::uint32_t columns = 0;
  const std::byte* images = nullptr;  ///< null: no images leave
  std::size_t image_stride = 0;       ///< bytes
  std::byte* host_images = nullptr;
  std::size_t host_stride = 0;  ///< bytes, a multiple of 16
  std::size_t host_bytes = 0;   ///< bytes of each image that are copied, a multiple of 16
  DeviceFinding* host_findings = nullptr;
  Scalar* host_scalars = nullptr;
  std::uint32_t* host_done = nullptr;
  const kernel::CountTap* tap = nullptr;  ///< of the device: the last step, of DeviceFinding::counted; null: it is none
  std::uint32_t tap_column = 0;           ///< of `columns`
  std::uint8_t tap_step = 0;              ///< its number
  std::uint32_t* blocks_done = nullptr;   ///< one word of device memory, 0 between launches
};
cudaError_t deliver(const Deliver& step, cudaStream_t stream) noexcept;

/// Work between the two in a stream is done for one stack at a time, in the order of their tickets, whichever streams
/// they are in. Stacks are enqueued in that order. `turn`: the ticket of the last one that is through, 0 at first; in
/// device memory. Orders of earlier tickets wait for nothing.
cudaError_t take_turn(const Order* order, const std::uint32_t* turn, cudaStream_t stream) noexcept;
cudaError_t give_turn(const Order* order, std::uint32_t* turn, cudaStream_t stream) noexcept;

/// Images that are only learned from go on, or not, whatever the steps before have said of them. `stack`: images.
cudaError_t let_darks_on(Order* order, std::uint32_t stack, DeviceFinding* findings, bool on,
                         cudaStream_t stream) noexcept;

}  // namespace rashpa::unit::cuda
