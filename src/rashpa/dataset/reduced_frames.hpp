// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rashpa/core/image/orientation.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/dataset/dataset.hpp"
#include "rashpa/dataset/memory_dataset.hpp"
#include "rashpa/dataset/reduction.hpp"

namespace rashpa::dataset {

/// Subtracts `offset` from pixels with a count. Differences below `least` become `least`, those above `most` become
/// `saturated`; float32 pixels have no such limits.
void subtract_offset(PixelType pixel, const Reduction& reduction, std::span<const std::byte> offset,
                     std::span<std::byte> pixels) noexcept;

/// Sets pixels with a count below the threshold to 0.
void zero_below_threshold(PixelType pixel, const Reduction& reduction, std::span<std::byte> pixels) noexcept;

/// Bins frames of one shape. One thread.
///
/// A sum above `most` becomes `saturated`. A mean is rounded to the nearest integer, halves away from zero; of float32
/// it is rounded to the nearest float32. A pixel without a count marks the whole bin of a sum, and is left out of a
/// mean, as long as another pixel of the bin has a count. A saturated pixel always marks its bin. A marked bin has the
/// value of its first pixel without a count, in reading order, and one that is not `saturated` comes first.
class Binning {
 public:
  /// `shape`: that of the pixels to bin, a whole number of bins.
  Binning(ModuleShape shape, const Reduction& reduction);
  ~Binning();
  Binning(const Binning&) = delete;
  Binning& operator=(const Binning&) = delete;
  void bin(std::span<const std::byte> pixels, std::span<std::byte> bins) noexcept;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// Returns a dataset of a region of one module, turned and then reduced, in its own memory. `region` is in the turned
/// frame. Throws ConfigError when bins do not divide the region, or the offset has another size than the module;
/// ResourceError when the machine has too little memory.
std::unique_ptr<const MemoryDataset> reduced_frames(const Dataset& frames, std::uint32_t module, Orientation way,
                                                    const Region& region, const Reduction& reduction);

}  // namespace rashpa::dataset
