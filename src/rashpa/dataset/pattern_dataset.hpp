// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "rashpa/dataset/memory_dataset.hpp"

namespace rashpa::dataset {

/// The pattern's value of one pixel, as an integer: a hash of its whole position, so that a pixel, line, frame or
/// module that ends up elsewhere is seen. Never 0, and never what stands for lost, masked or saturated pixels of the
/// type (core/image/fill.hpp): it lies in 1 … largest − 1. For f32 it is an integer below 2²⁴, hence exact.
/// rashpa.sim.pattern computes the same with NumPy.
std::uint32_t pattern_value(PixelType pixel, std::uint32_t module, std::uint64_t frame, std::uint32_t row,
                            std::uint32_t column) noexcept;

/// A dataset whose every pixel is pattern_value. No flags.
std::unique_ptr<MemoryDataset> make_pattern(ModuleShape shape, std::uint32_t modules, std::uint64_t frames);

}  // namespace rashpa::dataset
