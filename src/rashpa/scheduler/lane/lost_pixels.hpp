// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/scheduler/lane/lane_config.hpp"

namespace rashpa::scheduler {

/// Fills lost lines of a lane's images with the lost value, wherever the images lie, and checks that they still have
/// it. It reads only the lost runs of images and their places. It has no memory of its own.
class LostPixels {
 public:
  /// Creates the object. `config` outlives it.
  explicit LostPixels(const LaneConfig& config) : config_(config) {}

  /// Fills all lost lines with the lost value. Missing images need no fill, because nobody reads them. One thread at a
  /// time.
  void fill(const StackImage& image) const noexcept;
  /// Makes the fills visible to all threads, after the last fill() of a stack.
  void settle() const noexcept;
  /// Returns true while all filled lines have the lost value; a late source may have written lines over them. Any
  /// thread.
  [[nodiscard]] bool filled(const StackImage& image) const noexcept;

 private:
  [[nodiscard]] const Placement& placement_of(const LostRun& run) const noexcept;
  [[nodiscard]] memory::LostPart part_of(const StackImage& image, const LostRun& run) const noexcept;

  const LaneConfig& config_;
};

}  // namespace rashpa::scheduler
