#pragma once
/// Compaction on CUDA devices: the same lists, in the same order, as the reference. Asynchronous in the stream given;
/// nothing allocates or synchronises.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/csr/csr.hpp"

namespace rashpa::kernel::csr::cuda {

/// Images at regular distances in device memory, and the lists that they become. Image i is compacted when `work` is
/// null or work[i] is not 0.
struct Batch {
  const std::int16_t* photons = nullptr;  ///< image i at photons + i · photons_stride, aligned to 16 bytes
  std::size_t photons_stride = 0;         ///< pixels, a multiple of 8
  std::uint32_t pixels = 0;
  const std::uint64_t* marks = nullptr;  ///< as the conversion makes them, image i at word i · marks_stride
  std::size_t marks_stride = 0;
  std::uint32_t* index = nullptr;  ///< list i at index + i · list_stride; device memory or mapped host memory
  std::int16_t* value = nullptr;   ///< the same
  std::size_t list_stride = 0;     ///< entries; at least capacity
  std::size_t capacity = 0;
  std::uint32_t* entries = nullptr;    ///< [count]: how many; kOverflow32 when the capacity does not suffice
  const std::uint8_t* work = nullptr;  ///< [count], device memory: every block reads one
  std::uint32_t count = 0;
};
inline constexpr std::uint32_t kOverflow32 = ~0U;

/// Device memory that a compaction of `count` images of `pixels` pixels needs meanwhile, in bytes.
std::size_t scratch_bytes(std::uint32_t pixels, std::uint32_t count) noexcept;

/// From the marks that the conversion made; reads the photons of marked pixels only.
cudaError_t compact_marked(const Batch& batch, void* scratch, cudaStream_t stream) noexcept;
/// From the photons alone, in one pass over them; `marks` is not used.
cudaError_t compact(const Batch& batch, std::int16_t threshold, void* scratch, cudaStream_t stream) noexcept;

}  // namespace rashpa::kernel::csr::cuda
