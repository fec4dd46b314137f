// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rashpa/core/image/orientation.hpp"
#include "rashpa/dataset/dataset.hpp"
#include "rashpa/dataset/memory_dataset.hpp"

namespace rashpa::dataset {

/// Returns the shape of a turned module.
constexpr ModuleShape turned_shape(const ModuleShape& shape, Orientation way) noexcept {
  const auto [width, height] = turned_sides(way, shape.width, shape.height);
  return {width, height, shape.pixel};
}

/// Writes a frame of `shape` in another orientation into `to`, which holds as many bytes. `way` is valid.
void turn_frame(const ModuleShape& shape, Orientation way, const std::byte* from, std::span<std::byte> to) noexcept;

/// Returns a dataset of this module alone, with all its frames turned, in its own memory. Throws ConfigError for a turn
/// other than 0, 90, 180 or 270, ResourceError when the machine has too little memory.
std::unique_ptr<const MemoryDataset> turned_frames(const Dataset& frames, std::uint32_t module, Orientation way);

}  // namespace rashpa::dataset
