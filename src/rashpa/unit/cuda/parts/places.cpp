// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/places.hpp"

#include <algorithm>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4_cuda.hpp"
#include "rashpa/unit/cuda/control.hpp"

namespace rashpa::unit::cuda {

std::size_t stored_bytes(const Output& output) noexcept {
  return std::size_t{output.width} * output.height * pixel_bytes(output.pixel);
}

Places::Places(const Steps& steps, const Layout& layout, std::size_t joint_image)
    : stack(layout.stack),
      columns(static_cast<std::uint32_t>(steps.output.results.columns.size())),
      passed_on(steps.last_maker == steps.steps.size()),
      raw_stride(joint_image != 0 ? padded({layout.width, layout.height}) * pixel_bytes(layout.input)
                                  : layout.image_stride),
      leaving_bytes(padded({steps.output.width, steps.output.height}) * pixel_bytes(steps.output.pixel)) {
  constexpr std::size_t kMarks = 64;  // pixels of a word
  leaving_stride = joint_image != 0 ? joint_image : leaving_bytes;
  if (steps.output.chunked) {
    chunk_room =
        kernel::bitshuffle_lz4::cuda::room_for_chunk(stored_bytes(steps.output), pixel_bytes(steps.output.pixel));
  }
  for (const PlannedStep& step : steps.steps) {
    made_strides.push_back(step.makes_pixels ? padded(step.out_shape) * pixel_bytes(step.out.type) : 0);
    if (step.mark_at) mark_words = std::max(mark_words, padded(step.out_shape) / kMarks);
  }
}

}  // namespace rashpa::unit::cuda
