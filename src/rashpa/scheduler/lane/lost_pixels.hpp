// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/scheduler/lane/lane_config.hpp"

namespace rashpa::scheduler {

/// Makes lost lines of a lane's images look like no measured ones, wherever the images lie, and says whether they still
/// do. Reads of images their lost runs and places alone. No memory of its own.
class LostPixels {
 public:
  /// `config` outlives it.
  explicit LostPixels(const LaneConfig& config) : config_(config) {}

  /// One thread at a time: the lost value over all lost lines. Of a missing image nobody reads a pixel.
  void fill(const StackImage& image) const noexcept;
  /// Shows the pixels to all threads, behind the last fill() of a stack.
  void settle() const noexcept;
  /// Returns true while all filled parts are there. A late source may have written its lines over them. Any thread.
  [[nodiscard]] bool filled(const StackImage& image) const noexcept;

 private:
  [[nodiscard]] const Placement& placement_of(const LostRun& run) const noexcept;
  [[nodiscard]] memory::LostPart part_of(const StackImage& image, const LostRun& run) const noexcept;

  const LaneConfig& config_;
};

}  // namespace rashpa::scheduler
