// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/core/image/placement.hpp"
#include "rashpa/receiver/config.hpp"

namespace rashpa::receiver {

/// The layout of the memory that a receiver registers. One block has for each buffer its ring of image slots, then a
/// record ring for each of its DTPs. The images may instead lie in memory of a device, and only the records in the
/// block.
struct MemoryLayout {
  struct Ring {
    std::uint64_t pixels_offset = 0;
    std::uint64_t slot_bytes = 0;
  };
  std::uint64_t bytes = 0;         ///< bytes of the block
  std::uint64_t device_bytes = 0;  ///< bytes of images in memory of a device, in which ring offsets then count
  std::vector<Ring> buffers;
  std::vector<Placement> dtps;  ///< placement of each DTP, in order of buffers and their DTPs
  /// offset of the DTPs' last words in the memory of images; none: the link has none, or its own (link::ReceiverMemory)
  std::optional<std::uint64_t> words{};
};

/// Returns the lines of a part that has an event of its own, by BufferConfig::events; 0: an image has one event. Throws
/// ConfigError that names the buffer.
std::uint32_t event_lines_of(const BufferConfig& buffer);

/// `behind_lines`: sources write last words into the memory of lines, for devices that wait for them.
enum class LastWords : std::uint8_t { none, behind_lines };

/// Checks each buffer (sizes, ids, regions inside the image without overlaps) and returns the layout. Throws
/// ConfigError that names the buffer and the DTP.
MemoryLayout lay_out(const std::vector<BufferConfig>& buffers, unit::ImagesIn images = unit::ImagesIn::host,
                     LastWords words = LastWords::none);

}  // namespace rashpa::receiver
