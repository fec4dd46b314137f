// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rashpa/link/pcie/cuda/line_kernels.hpp"

namespace rashpa::link::pcie {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr unsigned kLoads = 8;              // of a lane, on their way before the first store
constexpr unsigned kPart = kWarp * kLoads;  // vectors of a line that a warp takes at once: 4 KiB
constexpr std::uint64_t kMostBlocks = 1024;

// A warp a part of a line. Nothing is read twice: no use to keep it.
__global__ void __launch_bounds__(kThreads) copy_lines_kernel(const __grid_constant__ CopiedLines lines) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::uint32_t vectors = lines.width / sizeof(uint4);
  const std::uint32_t parts = (vectors + kPart - 1) / kPart;  // of a line
  const std::uint64_t all = std::uint64_t{lines.rows} * parts;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (kThreads / kWarp);
  for (std::uint64_t number = std::uint64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp; number < all;
       number += warps) {
    const std::uint64_t row = number / parts;
    const std::uint32_t begin = static_cast<std::uint32_t>(number - row * parts) * kPart + lane;
    const auto* const from = reinterpret_cast<const uint4*>(lines.from + row * lines.from_pitch);
    auto* const to = reinterpret_cast<uint4*>(lines.to + row * lines.to_pitch);
    uint4 held[kLoads];
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
      if (begin + i * kWarp < vectors) held[i] = __ldcs(from + begin + i * kWarp);
    }
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
      if (begin + i * kWarp < vectors) __stcs(to + begin + i * kWarp, held[i]);
    }
  }
}

template <typename Pixel>
__global__ void fill_lines_kernel(const __grid_constant__ FilledLines lines) {
  const std::uint32_t pixels = lines.line_bytes / sizeof(Pixel);
  for (std::uint32_t line = blockIdx.x; line < lines.lines; line += gridDim.x) {
    auto* const to = reinterpret_cast<Pixel*>(lines.first + std::uint64_t{line} * lines.pitch);
    for (std::uint32_t i = threadIdx.x; i < pixels; i += blockDim.x) to[i] = static_cast<Pixel>(lines.bits);
  }
}

}  // namespace

bool fits_copy_lines(const CopiedLines& lines) noexcept {
  const std::uint64_t all = reinterpret_cast<std::uintptr_t>(lines.to) | reinterpret_cast<std::uintptr_t>(lines.from) |
                            lines.to_pitch | lines.from_pitch | lines.width;
  return all % sizeof(uint4) == 0;
}

cudaError_t copy_lines(const CopiedLines& lines, cudaStream_t stream) noexcept {
  const std::uint64_t parts = (lines.width / sizeof(uint4) + kPart - 1) / kPart * lines.rows;
  if (parts == 0) return cudaSuccess;
  constexpr std::uint64_t kParts = kThreads / kWarp;  // of a block
  const auto blocks = static_cast<unsigned>(std::min((parts + kParts - 1) / kParts, kMostBlocks));
  copy_lines_kernel<<<blocks, kThreads, 0, stream>>>(lines);
  return cudaGetLastError();
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
