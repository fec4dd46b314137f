// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

/// Distances, in bytes, between the images of a stack: as they come in, between steps, and as they leave. A plain
/// value.
struct Places {
  /// `joint_image`: bytes from one image to the next in the memory of several devices that have strips of the same
  /// images; 0: this device has whole images.
  Places(const Steps& steps, const Layout& layout, std::size_t joint_image);

  /// The place of an image among all of the ring.
  [[nodiscard]] std::size_t at(std::uint32_t slot, std::uint32_t image = 0) const noexcept {
    return std::size_t{slot} * stack + image;
  }

  std::uint32_t stack;                    ///< images
  std::uint32_t columns;                  ///< scalars of an image
  bool passed_on;                         ///< pixels that leave are those of the slot: nobody has made any
  std::size_t mark_words = 0;             ///< from one image's marks to the next's
  std::size_t raw_stride;                 ///< from one raw image on the device to the next
  std::size_t leaving_stride;             ///< from one image in host memory to the next
  std::size_t leaving_bytes;              ///< number of its bytes that are copied
  std::size_t chunk_room = 0;             ///< from one image's chunk in host memory to the next; 0: none are made
  std::vector<std::size_t> made_strides;  ///< by step: from one image that it makes to the next; 0: it makes none
};

/// The bytes of the output, as it lies in files.
[[nodiscard]] std::size_t stored_bytes(const Output& output) noexcept;

}  // namespace rashpa::unit::cuda
