// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Images into memory of a device, one launch for lines and ends of several.
#include <driver_types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "rashpa/link/pcie/cuda/end_of_image.hpp"
#include "rashpa/link/pcie/cuda/line_kernels.hpp"

namespace rashpa::link::pcie {

/// The work of one launch: lines of several images, and their ends. Its first block ends images in order, the others
/// copy at the same time as those of the launch before. All launches of one sequence must be made, in order, in streams
/// of one process: a launch waits on the device for the one before.
struct ImageBatch {
  static constexpr std::uint32_t kMostParts = 16;
  static constexpr std::uint32_t kMostEnds = 8;
  static constexpr std::uint32_t kArrived = kMostEnds + 1;  ///< words

  /// Lines at equal distances of an image, in vectors of 16 bytes.
  struct Part {
    std::byte* to = nullptr;
    std::uint64_t to_pitch = 0;
    const std::byte* from = nullptr;
    std::uint64_t from_pitch = 0;
    std::uint32_t vectors = 0;  ///< of a line
    std::uint32_t all = 0;      ///< vectors
    std::uint32_t first = 0;    ///< block of those that copy
    std::uint32_t image = 0;    ///< number of its end; that of all ends: it has none here
  };

  /// Takes lines that fits_kernel() of the image in hand; there is room, and they have at least one byte.
  void add(const CopiedLines& lines) noexcept;
  /// Ends the image in hand; there is room.
  void add(const EndOfImage& end) noexcept { ends[end_count++] = end; }
  [[nodiscard]] bool empty() const noexcept { return part_count == 0 && end_count == 0; }

  std::array<Part, kMostParts> parts{};
  std::array<EndOfImage, kMostEnds> ends{};
  std::array<std::uint32_t, kArrived> blocks{};  ///< that copy for an image, and for one that has no end here
  std::uint32_t part_count = 0;
  std::uint32_t end_count = 0;
  std::uint32_t block_count = 0;
  std::uint32_t* arrived = nullptr;  ///< kArrived words in the device's memory, 0; no launch in another stream has them
  std::uint64_t* sequence = nullptr;  ///< in the device's memory: the latest launch whose images have ended
  std::uint64_t* done = nullptr;      ///< the same for the host
  std::uint64_t number = 0;           ///< of this launch, one more than that of the launch before
};

/// Puts it into the stream. A thread that sees a lock word sees the record, all lines of the image and the work that
/// was in the stream before; lock words appear in order, each before its number.
cudaError_t launch(const ImageBatch& batch, cudaStream_t stream) noexcept;

}  // namespace rashpa::link::pcie
