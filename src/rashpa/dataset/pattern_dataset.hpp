// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "rashpa/dataset/memory_dataset.hpp"

namespace rashpa::dataset {

/// Returns the pattern's value of one pixel: a hash of its whole position, which exposes a misplaced pixel, line, frame
/// or module. The value lies in 1 … largest − 1 and never equals a value for lost, masked or saturated pixels
/// (core/image/fill.hpp). For f32 it is an integer below 2²⁴, hence exact. rashpa.sim.pattern computes the same with
/// NumPy.
std::uint32_t pattern_value(PixelType pixel, std::uint32_t module, std::uint64_t frame, std::uint32_t row,
                            std::uint32_t column) noexcept;

/// Makes a dataset with pattern_value() in each pixel and no flags.
std::unique_ptr<MemoryDataset> make_pattern(ModuleShape shape, std::uint32_t modules, std::uint64_t frames);

}  // namespace rashpa::dataset
