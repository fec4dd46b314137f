// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "rashpa/core/image/placement.hpp"
#include "rashpa/receiver/config.hpp"

namespace rashpa::receiver {

/// Describes where everything lies in the memory that a receiver registers: for every buffer its ring of image slots,
/// then a record ring for each of its DTPs, in one block; or the images in memory of a device, and the records in the
/// block.
struct MemoryLayout {
  struct Ring {
    std::uint64_t pixels_offset = 0;
    std::uint64_t slot_bytes = 0;
  };
  std::uint64_t bytes = 0;         ///< of the block
  std::uint64_t device_bytes = 0;  ///< of images in memory of a device, in which the offsets of rings count then
  std::vector<Ring> buffers;
  std::vector<Placement> dtps;  ///< buffers in order, DTPs in order
};

/// Checks every buffer (sizes, regions inside the image and not overlapping, ids) and lays them out. Throws ConfigError
/// that names the buffer and the DTP.
MemoryLayout lay_out(const std::vector<BufferConfig>& buffers, unit::ImagesIn images = unit::ImagesIn::host);

}  // namespace rashpa::receiver
