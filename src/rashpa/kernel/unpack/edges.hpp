// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ends of modules' lines within a vector that a device stores at once.
#include <cstdint>
#include <vector>

#include "rashpa/kernel/unpack/unpack.hpp"

namespace rashpa::kernel::unpack {

/// Pixels that are stored together but not of one line of one module: the end of one line, a gap, and the begin of the
/// next. Each of the three may be empty.
struct alignas(16) Edge {
  static constexpr std::uint16_t kSingly = 0xFFFF;  ///< in `before`: pixels must be made one by one

  std::uint32_t pixel = 0;   ///< first pixel in the output image
  std::uint32_t first = 0;   ///< counter of the first pixel
  std::uint32_t second = 0;  ///< counter of the first pixel if the line behind the gap began with it
  std::uint16_t before = 0;  ///< pixels of the ending line
  std::uint16_t after = 0;   ///< pixels before the beginning line
};

/// Returns true when the output image has pixels without a counter.
bool has_gaps(const Config& config) noexcept;

/// Returns all edges of an image whose pixels are stored 16 bytes at a time, in order. From each counter of an edge, as
/// many counters can be read as 16 bytes hold pixels. Where that is not so, or an edge would contain more than two
/// lines, the edge is kSingly.
std::vector<Edge> edges_of(const Config& config);

}  // namespace rashpa::kernel::unpack
