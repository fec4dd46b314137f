// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tables of peaks on CUDA devices, common to all kernels that find peaks.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/rings/rings_cuda.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::cuda {

struct PeakRoom;

/// The rows of all images in host memory, with the columns of peaks::columns(). An image with more peaks than there is
/// room for fails.
class PeakTable {
 public:
  /// Takes the memory. `kernel` is the name for errors. Throws ResourceError.
  PeakTable(std::string kernel, const Setup& setup, std::uint32_t most);

  /// Enqueues the sorting of rows directly after the kernel that finds peaks, which lets it begin early
  /// (early_launch.cuh). It also clears the memory for the next stack. `rings` are those of that kernel.
  [[nodiscard]] cudaError_t settle(const DeviceStack& stack, const MarkedRings::Seen& rings, std::uint32_t bench,
                                   cudaStream_t stream) const noexcept;
  [[nodiscard]] PeakRoom room(std::uint32_t bench) const noexcept;
  /// The destination of rows, for a kernel that sorts them itself.
  struct Rows {
    double* intensities = nullptr;      ///< in device memory, [image][most], by row
    Scalar* table = nullptr;            ///< in host memory, [place][row][column]
    std::uint32_t* found = nullptr;     ///< in host memory, [place]: number of rows
    std::uint32_t* too_many = nullptr;  ///< in host memory: number of peaks of an image that failed
  };
  [[nodiscard]] Rows rows(std::uint32_t bench) const noexcept;

  [[nodiscard]] TableView table(std::uint32_t place) const noexcept;
  [[nodiscard]] std::string failure() const;

 private:
  std::string kernel_;
  std::uint32_t places_, stack_, most_;
  bool early_;                        // kernels begin before the ones in front of them have ended
  memory::cuda::PinnedMemory table_;  // Scalar [place][row][column]
  memory::cuda::PinnedMemory found_;  // by place; then how many were too many
  std::vector<memory::cuda::DeviceMemory> entries_, intensities_;  // by bench
  // By bench, 0 between stacks: peaks by image, then blocks that are done with it.
  std::vector<memory::cuda::DeviceMemory> counts_;
};

}  // namespace rashpa::kernel::cuda
