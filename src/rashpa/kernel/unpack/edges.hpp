// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where lines of modules end within a vector that a device stores at once.
#include <cstdint>
#include <vector>

#include "rashpa/kernel/unpack/unpack.hpp"

namespace rashpa::kernel::unpack {

/// Pixels that are stored together and are not all of one line of one module: the end of one, a gap, the begin of the
/// next; each of the three may be empty.
struct alignas(16) Edge {
  static constexpr std::uint16_t kSingly = 0xFFFF;  ///< in place of `before`: pixels must be made one by one

  std::uint32_t pixel = 0;   ///< of the image that is made
  std::uint32_t first = 0;   ///< counter of the first pixel
  std::uint32_t second = 0;  ///< counter of the first pixel, had the line behind the gap begun with it
  std::uint16_t before = 0;  ///< pixels of the line that ends
  std::uint16_t after = 0;   ///< pixels in front of the line that begins
};

/// Returns true when there are pixels that have no counter.
bool has_gaps(const Config& config) noexcept;

/// All edges of an image whose pixels are stored 16 bytes at a time, in order. From each counter that an edge names as
/// many can be read as there are pixels in 16 bytes: where that is not so, or where more than two lines are among them,
/// the edge is kSingly.
std::vector<Edge> edges_of(const Config& config);

}  // namespace rashpa::kernel::unpack
