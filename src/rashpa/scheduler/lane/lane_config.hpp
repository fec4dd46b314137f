// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/core/end.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/placement.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/memory/device_images.hpp"

namespace rashpa::scheduler {

/// One DTP of a lane. `position` is its place in the receiver's list of DTPs (Arrival::dtp).
struct LaneDtp {
  std::uint32_t position = 0;
  std::uint32_t id = 0;
  std::uint32_t module = 0;
  Placement placement{};
};

/// One RASHPA buffer and its expected images. All DTPs of a lane share its time slice.
struct LaneConfig {
  std::string name;
  PixelType pixel = PixelType::u16;
  std::byte* memory = nullptr;  ///< start of the registered region; unused when the images lie on a device
  /// the images on a device, or null; outlives the lane. StackImage::raw is null then
  memory::DeviceImages* device_images = nullptr;
  std::uint64_t pixels_offset = 0;
  std::uint64_t slot_bytes = 0;
  std::uint32_t slots = 0;  ///< a multiple of `stack`
  std::uint32_t stack = 0;
  std::uint64_t images = 0;  ///< images that are due, or the most that may come
  End end = End::known;
  Slice slice{};  ///< kToldByRecords: records name the frames
  std::int64_t deadline_ns = 0;
  std::int64_t quiet_ns = 0;  ///< as in Lane; 0: unlimited
  std::vector<LaneDtp> dtps;
  std::uint32_t run = 0;  ///< run number, for the log
};

}  // namespace rashpa::scheduler
