// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Lines of images in memory of devices: kernels that only enqueue, on the current device.
#include <driver_types.h>

#include <cstddef>
#include <cstdint>

namespace rashpa::link::pcie {

/// Lines at equal distances, from memory that the device reads to memory that it writes, its own or a peer's.
struct CopiedLines {
  std::byte* to = nullptr;
  std::uint64_t to_pitch = 0;
  const std::byte* from = nullptr;
  std::uint64_t from_pitch = 0;
  std::uint32_t width = 0;  ///< bytes
  std::uint32_t rows = 0;
};

/// Returns true when a kernel takes them (image_kernel.hpp): all begin and end at multiples of 16 bytes.
[[nodiscard]] bool fits_kernel(const CopiedLines& lines) noexcept;

/// Lines that get one value in every pixel; `first` and both distances are multiples of a pixel.
struct FilledLines {
  std::byte* first = nullptr;
  std::uint64_t pitch = 0;
  std::uint32_t line_bytes = 0;
  std::uint32_t lines = 0;
  std::uint32_t bits = 0;         ///< of a pixel
  std::uint32_t pixel_bytes = 1;  ///< 1, 2 or 4
};
cudaError_t fill_lines(const FilledLines& lines, cudaStream_t stream) noexcept;

}  // namespace rashpa::link::pcie
