// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/memory_dataset.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/cache_line.hpp"

namespace rashpa::dataset {

namespace {

std::uint64_t stride_of(ModuleShape shape, std::uint32_t modules) {
  check_shape(shape, modules);
  return (shape.frame_bytes() + kCacheLine - 1) / kCacheLine * kCacheLine;
}

memory::Buffer take(std::uint64_t stride, std::uint32_t modules, std::uint64_t frames) {
  if (frames == 0) throw ConfigError("dataset: it has no frames; give at least one");
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(stride * modules, frames, &bytes)) {
    throw ResourceError(fmt::format("dataset: {} frames of {} bytes do not fit into any memory; use fewer frames",
                                    frames, stride * modules));
  }
  try {
    return {bytes, memory::MemoryKind::pageable};
  } catch (const ResourceError& error) {
    throw ResourceError(fmt::format("dataset: {} frames of {} module(s), {} bytes each: {}; use fewer frames", frames,
                                    modules, stride, error.what()));
  }
}

}  // namespace

void check_shape(ModuleShape shape, std::uint32_t modules) {
  if (shape.width == 0 || shape.height == 0 || shape.width > kLargestSide || shape.height > kLargestSide) {
    throw ConfigError(
        fmt::format("dataset: a module of {} x {} pixels is not possible; give a width and a height of 1 to {}",
                    shape.width, shape.height, kLargestSide));
  }
  if (modules == 0 || modules > kMostModules) {
    throw ConfigError(fmt::format("dataset: {} modules are not possible; give 1 to {}", modules, kMostModules));
  }
}

MemoryDataset::MemoryDataset(ModuleShape shape, std::uint32_t modules, std::uint64_t frames)
    : shape_(shape),
      modules_(modules),
      stride_(stride_of(shape, modules)),
      pixels_(take(stride_, modules, frames)),
      flags_(frames, 0) {}

}  // namespace rashpa::dataset
