// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes images into memory of a device, with one launch for the lines and ends of several.
#include <driver_types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "rashpa/link/pcie/cuda/end_of_image.hpp"
#include "rashpa/link/pcie/cuda/line_kernels.hpp"

namespace rashpa::link::pcie {

/// The work of one launch: lines of several images, and their ends. Its first block ends images in order; the others
/// copy concurrently with those of the previous launch. All launches of a sequence must be made in order, in streams of
/// one process, because a launch waits on the device for the previous one.
struct ImageBatch {
  static constexpr std::uint32_t kMostParts = 16;
  static constexpr std::uint32_t kMostEnds = 8;
  static constexpr std::uint32_t kArrived = kMostEnds + 1;  ///< number of words of `arrived`

  /// Lines of an image at equal distances. They are copied in vectors of 16 bytes.
  struct Part {
    std::byte* to = nullptr;
    std::uint64_t to_pitch = 0;
    const std::byte* from = nullptr;
    std::uint64_t from_pitch = 0;
    std::uint32_t vectors = 0;  ///< vectors of a line
    std::uint32_t all = 0;      ///< vectors of all lines
    std::uint32_t first = 0;    ///< first of the copying blocks that copy it
    std::uint32_t image = 0;    ///< number of its image's end; end_count: the end is not in this launch
  };

  /// Adds lines of the current image, for which fits_kernel() is true. There must be room, and lines are not empty.
  void add(const CopiedLines& lines) noexcept;
  /// Adds the end of the current image. There must be room.
  void add(const EndOfImage& end) noexcept { ends[end_count++] = end; }
  [[nodiscard]] bool empty() const noexcept { return part_count == 0 && end_count == 0; }

  std::array<Part, kMostParts> parts{};
  std::array<EndOfImage, kMostEnds> ends{};
  /// number of blocks that copy for each image, and for the one without an end here
  std::array<std::uint32_t, kArrived> blocks{};
  std::uint32_t part_count = 0;
  std::uint32_t end_count = 0;
  std::uint32_t block_count = 0;
  /// kArrived words in device memory, initially 0; launches in other streams have their own
  std::uint32_t* arrived = nullptr;
  std::uint64_t* sequence = nullptr;  ///< in device memory: number of the latest launch whose images have ended
  std::uint64_t* done = nullptr;      ///< in host memory: number of the latest launch whose images have ended
  std::uint64_t number = 0;           ///< number of this launch, one more than that of the previous launch
};

/// Enqueues the launch. A thread that sees a lock word sees the record, all lines of the image and all earlier work of
/// the stream. Lock words appear in order, each before its number.
cudaError_t launch(const ImageBatch& batch, cudaStream_t stream) noexcept;

}  // namespace rashpa::link::pcie
