// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rashpa/link/pcie/cuda/line_kernels.hpp"

namespace rashpa::link::pcie {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMostBlocks = 1024;

template <typename Pixel>
__global__ void fill_lines_kernel(const __grid_constant__ FilledLines lines) {
  const std::uint32_t pixels = lines.line_bytes / sizeof(Pixel);
  for (std::uint32_t line = blockIdx.x; line < lines.lines; line += gridDim.x) {
    auto* const to = reinterpret_cast<Pixel*>(lines.first + std::uint64_t{line} * lines.pitch);
    for (std::uint32_t i = threadIdx.x; i < pixels; i += blockDim.x) to[i] = static_cast<Pixel>(lines.bits);
  }
}

}  // namespace

bool fits_kernel(const CopiedLines& lines) noexcept {
  const std::uint64_t all = reinterpret_cast<std::uintptr_t>(lines.to) | reinterpret_cast<std::uintptr_t>(lines.from) |
                            lines.to_pitch | lines.from_pitch | lines.width;
  return all % sizeof(uint4) == 0;
}

cudaError_t fill_lines(const FilledLines& lines, cudaStream_t stream) noexcept {
  if (lines.lines == 0) return cudaSuccess;
  const unsigned blocks = std::min<unsigned>(lines.lines, kMostBlocks);
  if (lines.pixel_bytes == 1) {
    fill_lines_kernel<std::uint8_t><<<blocks, kThreads, 0, stream>>>(lines);
  } else if (lines.pixel_bytes == 2) {
    fill_lines_kernel<std::uint16_t><<<blocks, kThreads, 0, stream>>>(lines);
  } else {
    fill_lines_kernel<std::uint32_t><<<blocks, kThreads, 0, stream>>>(lines);
  }
  return cudaGetLastError();
}

}  // namespace rashpa::link::pcie
