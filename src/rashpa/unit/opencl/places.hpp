// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::opencl {

/// Sizes and distances of all that lies in memory of a unit on an OpenCL device, by its steps and its layout. Known
/// once, changed by nobody.
struct Places {
  static constexpr std::size_t kMarks = 64;  ///< pixels of a word

  Places(const Steps& steps, const Layout& layout, bool works_in_place)
      : in_place(works_in_place),
        stack(layout.stack),
        image_stride(layout.image_stride),
        image_bytes(std::size_t{layout.width} * layout.height * pixel_bytes(layout.input)),
        last_maker(steps.last_maker),
        passed_on(steps.last_maker == steps.steps.size()),
        pixels_leave(steps.output.pixels && !passed_on) {
    for (const PlannedStep& step : steps.steps) {
      const std::size_t words = (step.out_shape.pixels() + kMarks - 1) / kMarks;
      mark_words = std::max(mark_words, words);
      made_strides.push_back(step.makes_pixels ? words * kMarks * pixel_bytes(step.out.type) : 0);
    }
  }
  /// Bytes from one image that leaves to the next; 0: none do.
  [[nodiscard]] std::size_t leaving_stride() const noexcept { return pixels_leave ? made_strides[last_maker] : 0; }
  /// Returns true when the pixels that leave the device lie in the slot, where the host reads them.
  [[nodiscard]] bool made_in_slot(std::size_t step) const noexcept {
    return in_place && pixels_leave && step == last_maker;
  }

  bool in_place;
  std::uint32_t stack;                    ///< images
  std::size_t image_stride;               ///< bytes from one image that comes in to the next
  std::size_t image_bytes;                ///< of one that comes in
  std::size_t last_maker;                 ///< the step that makes the pixels of the output
  bool passed_on;                         ///< pixels that leave are those of the slot: nobody has made any
  bool pixels_leave;                      ///< made ones
  std::size_t mark_words = 0;             ///< from one image's marks to the next's
  std::vector<std::size_t> made_strides;  ///< by step: from one image that it makes to the next; 0: it makes none
};

}  // namespace rashpa::unit::opencl
