// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

/// The distances in bytes between the images of a stack: at input, between steps, and at output. A plain value.
struct Places {
  /// Computes the distances. `joint_image` is the bytes from one image to the next in the memory of several devices
  /// with strips of the same images; 0: this device has whole images.
  Places(const Steps& steps, const Layout& layout, std::size_t joint_image);

  /// Returns the place of an image in the ring.
  [[nodiscard]] std::size_t at(std::uint32_t slot, std::uint32_t image = 0) const noexcept {
    return std::size_t{slot} * stack + image;
  }

  std::uint32_t stack;                    ///< images
  std::uint32_t columns;                  ///< scalars of an image
  bool passed_on;                         ///< true: pixels leave from the slot, because no step makes any
  std::size_t mark_words = 0;             ///< from one image's marks to the next image's
  std::size_t raw_stride;                 ///< from one raw image on the device to the next
  std::size_t leaving_stride;             ///< from one output image in host memory to the next
  std::size_t leaving_bytes;              ///< copied bytes of an output image
  std::size_t chunk_room = 0;             ///< from one image's chunk in host memory to the next; 0: there are no chunks
  std::vector<std::size_t> made_strides;  ///< by step: from one image that it makes to the next; 0: it makes none
};

/// Returns the bytes of an output image, as files have it.
[[nodiscard]] std::size_t stored_bytes(const Output& output) noexcept;

}  // namespace rashpa::unit::cuda
