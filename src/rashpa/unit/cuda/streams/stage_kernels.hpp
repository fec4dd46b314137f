// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The work on a stack that belongs to no kernel: turns of work that runs stack by stack, and results that leave the
/// device.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/unit/cuda/control.hpp"

namespace rashpa::unit::cuda {

using kernel::cuda::DeviceFinding;

/// Stores accepted images, all findings and all scalars in host memory, and then the order's ticket; clears findings
/// and scalars on the device for the next stack. It also decides a last step that is only a count, since a separate
/// kernel would cost a small stack more than that work.
struct Deliver {
  Order* order = nullptr;   ///< in device memory, with its work flags as the steps have left them
  std::uint32_t stack = 0;  ///< images of a stack
  DeviceFinding* findings = nullptr;
  Scalar* scalars = nullptr;  ///< [stack][columns]
  std::uint32_t columns = 0;
  const std::byte* images = nullptr;  ///< null: no images leave
  std::size_t image_stride = 0;       ///< bytes
  std::byte* host_images = nullptr;
  std::size_t host_stride = 0;  ///< bytes, a multiple of 16
  std::size_t host_bytes = 0;   ///< copied bytes of each image, a multiple of 16
  DeviceFinding* host_findings = nullptr;
  Scalar* host_scalars = nullptr;
  std::uint32_t* host_done = nullptr;
  /// in device memory: the limits of the last step, when it decides by DeviceFinding::counted; otherwise null
  const kernel::CountTap* tap = nullptr;
  std::uint32_t tap_column = 0;          ///< column of the count
  std::uint8_t tap_step = 0;             ///< number of the step of `tap`
  std::uint32_t* blocks_done = nullptr;  ///< one word of device memory, 0 between launches
};
cudaError_t deliver(const Deliver& step, cudaStream_t stream) noexcept;

/// Enqueues a wait for the stack's turn. Work between this and the end of the turn runs for one stack at a time, in the
/// order of tickets, in any streams; stacks are enqueued in that order. `turn` in device memory is the ticket of the
/// last finished stack, 0 at first. Orders of earlier tickets do not wait.
cudaError_t take_turn(const Order* order, const std::uint32_t* turn, cudaStream_t stream) noexcept;
cudaError_t give_turn(const Order* order, std::uint32_t* turn, cudaStream_t stream) noexcept;

/// Enqueues a change of the images that are only learned from: with `on` they are processed by the next steps,
/// otherwise they are not; decisions of earlier steps do not matter. `stack` is the number of images.
cudaError_t let_darks_on(Order* order, std::uint32_t stack, DeviceFinding* findings, bool on,
                         cudaStream_t stream) noexcept;

}  // namespace rashpa::unit::cuda
