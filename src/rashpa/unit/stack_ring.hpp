// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory of a ring of stacks as a receiver lays it out, with the stacks, for this folder's tests and benchmark.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/memory/buffer.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// A ring of complete images; its maker fills in their pixels.
struct StackRing {
  StackRing(std::uint32_t width, std::uint32_t height, std::uint32_t stack, std::uint32_t stacks,
            memory::MemoryKind kind, PixelType pixel = PixelType::u16)
      : stride((std::size_t{width} * height * pixel_bytes(pixel) + 4095) / 4096 * 4096),
        memory(stride * stack * stacks, kind),
        layout{.width = width,
               .height = height,
               .input = pixel,
               .stack = stack,
               .stacks = stacks,
               .images = memory.data(),
               .image_stride = stride},
        all(stacks) {
    for (std::uint32_t s = 0; s < stacks; ++s) {
      all[s].slot = s;
      all[s].count = stack;
      all[s].images.resize(stack);
      for (std::uint32_t i = 0; i < stack; ++i) {
        all[s].images[i].completeness = Completeness::complete;
        all[s].images[i].raw = memory.data() + (std::size_t{s} * stack + i) * stride;
      }
    }
  }
  std::size_t stride;
  memory::Buffer memory;
  Layout layout;
  std::vector<Stack> all;
};

}  // namespace rashpa::unit
