// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/lost_pixels.hpp"

#include <algorithm>

#include "rashpa/scheduler/lane/lost_lines.hpp"

namespace rashpa::scheduler {

void LostPixels::fill(const StackImage& image) const noexcept {
  for (const LostRun& run : image.lost_runs()) {
    if (config_.device_images != nullptr) {
      config_.device_images->fill(part_of(image, run));
    } else {
      fill_lost(image.raw, placement_of(run), config_.pixel, run);
    }
  }
}

void LostPixels::settle() const noexcept {
  if (config_.device_images != nullptr) config_.device_images->settle();
}

bool LostPixels::filled(const StackImage& image) const noexcept {
  const auto lost = image.lost_runs();
  return std::all_of(lost.begin(), lost.end(), [&](const LostRun& run) {
    if (config_.device_images != nullptr) return config_.device_images->holds_lost(part_of(image, run));
    return holds_lost(image.raw, placement_of(run), config_.pixel, run);
  });
}

const Placement& LostPixels::placement_of(const LostRun& run) const noexcept {
  const auto dtp =
      std::find_if(config_.dtps.begin(), config_.dtps.end(), [&](const LaneDtp& one) { return one.id == run.dtp; });
  return dtp->placement;
}

memory::LostPart LostPixels::part_of(const StackImage& image, const LostRun& run) const noexcept {
  const Placement& placement = placement_of(run);
  const std::uint64_t slot = config_.pixels_offset + image.index % config_.slots * config_.slot_bytes;
  return {.first = slot + placement.first_line_offset + std::uint64_t{run.first_line} * placement.pitch,
          .pitch = placement.pitch,
          .line_bytes = placement.line_bytes,
          .lines = run.lines,
          .type = config_.pixel};
}

}  // namespace rashpa::scheduler
