// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels for images' lines in memory of devices. They only enqueue, on the current device.
#include <driver_types.h>

#include <cstddef>
#include <cstdint>

namespace rashpa::link::pcie {

/// Lines at equal distances, copied from memory that the device can read to its own memory or a peer's.
struct CopiedLines {
  std::byte* to = nullptr;
  std::uint64_t to_pitch = 0;
  const std::byte* from = nullptr;
  std::uint64_t from_pitch = 0;
  std::uint32_t width = 0;  ///< bytes
  std::uint32_t rows = 0;
};

/// Returns true when a kernel can copy them (image_kernel.hpp): all lines begin and end at multiples of 16 bytes.
[[nodiscard]] bool fits_kernel(const CopiedLines& lines) noexcept;

/// Lines to fill with one pixel value; `first` and both distances are multiples of a pixel.
struct FilledLines {
  std::byte* first = nullptr;
  std::uint64_t pitch = 0;
  std::uint32_t line_bytes = 0;
  std::uint32_t lines = 0;
  std::uint32_t bits = 0;         ///< bits of the pixel value
  std::uint32_t pixel_bytes = 1;  ///< 1, 2 or 4
};
cudaError_t fill_lines(const FilledLines& lines, cudaStream_t stream) noexcept;

}  // namespace rashpa::link::pcie
