// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/turned_frames.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"

namespace rashpa::dataset {

namespace {

/// Describes how a turned frame is read, pixel by pixel, along its lines and down, from the frame as it was read out.
struct Reading {
  std::int64_t first;
  std::int64_t along;
  std::int64_t down;
};

Reading reading_of(const ModuleShape& shape, Orientation way) noexcept {
  const TurnedAxes axes(way, shape.width, shape.height);
  const std::int64_t along = axes.column_x + axes.row_x * shape.width;
  const std::int64_t down = axes.column_y + axes.row_y * shape.width;
  return {-axes.x * along - axes.y * down, along, down};
}

/// Turns a frame in squares small enough that the lines of both frames fit into the first cache.
template <typename T>
void turn(const std::byte* from, std::span<std::byte> to, const ModuleShape& made, const Reading& reading) noexcept {
  constexpr std::uint32_t kSquare = 32;
  const T* in = reinterpret_cast<const T*>(from) + reading.first;
  T* out = reinterpret_cast<T*>(to.data());
  for (std::uint32_t top = 0; top < made.height; top += kSquare) {
    for (std::uint32_t left = 0; left < made.width; left += kSquare) {
      const std::uint32_t bottom = std::min(top + kSquare, made.height), right = std::min(left + kSquare, made.width);
      for (std::uint32_t y = top; y < bottom; ++y) {
        for (std::uint32_t x = left; x < right; ++x) {
          out[std::size_t{y} * made.width + x] = in[x * reading.along + y * reading.down];
        }
      }
    }
  }
}

}  // namespace

void turn_frame(const ModuleShape& shape, Orientation way, const std::byte* from, std::span<std::byte> to) noexcept {
  const ModuleShape made = turned_shape(shape, way);
  const Reading reading = reading_of(shape, way);
  switch (pixel_bytes(made.pixel)) {
    case 1:
      return turn<std::uint8_t>(from, to, made, reading);
    case 2:
      return turn<std::uint16_t>(from, to, made, reading);
    default:
      return turn<std::uint32_t>(from, to, made, reading);
  }
}

std::unique_ptr<const MemoryDataset> turned_frames(const Dataset& frames, std::uint32_t module, Orientation way) {
  if (!way.valid()) {
    throw ConfigError(
        fmt::format("dataset: module {} is turned by {}°; turn it by 0, 90, 180 or 270°", module, way.turn));
  }
  const ModuleShape made = turned_shape(frames.shape(), way);
  std::unique_ptr<MemoryDataset> all;
  try {
    all = std::make_unique<MemoryDataset>(made, 1, frames.frames());
  } catch (const ResourceError& error) {
    throw ResourceError(
        fmt::format("module {}, turned by {}°{}: {}", module, way.turn, way.flip ? " and flipped" : "", error.what()));
  }
  for (std::uint64_t frame = 0; frame < frames.frames(); ++frame) {
    turn_frame(frames.shape(), way, frames.frame(module, frame), all->writable(0, frame));
    all->set_flags(frame, frames.flags(frame));
  }
  return all;
}

}  // namespace rashpa::dataset
