// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::opencl {

/// The sizes and distances of all data in memory of a unit on an OpenCL device, from its steps and its layout.
/// Constant.
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
  /// Returns the bytes from one output image to the next; 0: no images leave.
  [[nodiscard]] std::size_t leaving_stride() const noexcept { return pixels_leave ? made_strides[last_maker] : 0; }
  /// Returns true when the output pixels of that step lie in the slot, where the host reads them.
  [[nodiscard]] bool made_in_slot(std::size_t step) const noexcept {
    return in_place && pixels_leave && step == last_maker;
  }

  bool in_place;
  std::uint32_t stack;                    ///< images
  std::size_t image_stride;               ///< bytes from one input image to the next
  std::size_t image_bytes;                ///< bytes of an input image
  std::size_t last_maker;                 ///< step that makes the pixels of the output
  bool passed_on;                         ///< true: pixels leave from the slot, because no step makes any
  bool pixels_leave;                      ///< true: pixels that a step made leave
  std::size_t mark_words = 0;             ///< words from one image's marks to the next image's
  std::vector<std::size_t> made_strides;  ///< by step: from one image that it makes to the next; 0: it makes none
};

}  // namespace rashpa::unit::opencl
