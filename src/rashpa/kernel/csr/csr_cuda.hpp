// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compaction on CUDA devices, with the lists of the reference in the same order. Asynchronous in the given stream;
/// nothing allocates or synchronises.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/csr/csr.hpp"

namespace rashpa::kernel::csr::cuda {

/// Images at regular distances in device memory, and the destination of their lists. Image i is compacted when `work`
/// is null or work[i] is not 0.
struct Batch {
  const void* images = nullptr;  ///< aligned to 16 bytes
  PixelFormat format{};
  std::size_t image_stride = 0;  ///< pixels from one image to the next, a multiple of 16 bytes
  std::uint32_t pixels = 0;
  const std::uint64_t* marks = nullptr;  ///< marks of Tap::mark; image i begins at word i · marks_stride
  std::size_t marks_stride = 0;
  std::uint32_t* index = nullptr;  ///< list i begins at index + i · list_stride; device memory or mapped host memory
  void* value = nullptr;           ///< of the pixels' type; list i begins at element i · list_stride
  std::size_t list_stride = 0;     ///< entries; at least capacity
  std::size_t capacity = 0;
  std::uint32_t* entries = nullptr;  ///< number of entries of image i at i · entries_stride; kOverflow32: no room
  std::size_t entries_stride = 1;
  const std::uint8_t* work = nullptr;  ///< [count] in device memory; each block reads its own
  std::uint32_t count = 0;
};
inline constexpr std::uint32_t kOverflow32 = kernel::cuda::kListOverflow;

/// Returns the bytes of temporary device memory for a compaction of `count` images of `pixels` pixels.
std::size_t scratch_bytes(std::uint32_t pixels, std::uint32_t count) noexcept;

/// Enqueues the compaction by marks, which reads only marked pixels.
cudaError_t compact_marked(const Batch& batch, void* scratch, cudaStream_t stream) noexcept;
/// Enqueues the compaction by the pixels alone, in one pass over them; `marks` is not used.
cudaError_t compact(const Batch& batch, std::int32_t threshold, void* scratch, cudaStream_t stream) noexcept;

/// Makes the pass on the current device.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup);

}  // namespace rashpa::kernel::csr::cuda
