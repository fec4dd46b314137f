// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/contract/calibration_maps.hpp"

#include <cstddef>

namespace rashpa::kernel {

namespace {

/// Returns `rows` of each of the maps that lie one behind the other, [maps][height][width].
template <typename T>
std::vector<T> cut(const std::vector<T>& all, const CalibrationMaps& maps, const Rows& rows) {
  const std::size_t image = std::size_t{maps.width} * maps.height;
  const std::size_t first = std::size_t{maps.width} * rows.first;
  const std::size_t count = std::size_t{maps.width} * rows.count;
  std::vector<T> some;
  some.reserve(image == 0 ? 0 : all.size() / image * count);
  for (std::size_t map = 0; map + image <= all.size() && image != 0; map += image) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(map + first);
    some.insert(some.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return some;
}

}  // namespace

CalibrationMaps rows_of(const CalibrationMaps& maps, const Rows& rows) {
  return {.width = maps.width,
          .height = rows.count,
          .pedestal = cut(maps.pedestal, maps, rows),
          .gain = cut(maps.gain, maps, rows),
          .mask = cut(maps.mask, maps, rows),
          .rms = cut(maps.rms, maps, rows)};
}

}  // namespace rashpa::kernel
