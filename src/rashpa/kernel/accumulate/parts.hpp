// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Plain sums before any division, which units write and a unit of units joins.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/contract/join.hpp"

namespace rashpa::kernel::accumulate {

/// The arrays of Sums. Parts have those that exist, in this order.
enum Part : std::uint8_t {
  kCounted,
  kSum,
  kMax,
  kSquares,
  kCrosses,
  kTops,
  kRealSum,
  kRealMean,
  kRealSquares,
  kRealMax,
  kParts
};

/// Calls `work(part, array)` for each array that exists.
template <typename AnySums, typename Work>
void for_parts(AnySums& sums, Work work) {
  const auto one = [&](Part part, auto& values) {
    if (!values.empty()) work(part, values);
  };
  one(kCounted, sums.counted);
  one(kSum, sums.sum);
  one(kMax, sums.max);
  one(kSquares, sums.squares[0]);
  one(kCrosses, sums.squares[1]);
  one(kTops, sums.squares[2]);
  one(kRealSum, sums.real_sum);
  one(kRealMean, sums.real_mean);
  one(kRealSquares, sums.real_squares);
  one(kRealMax, sums.real_max);
}

/// Returns the parts of sums of pixels in `format`. 64-bit integers are i64 whatever their sign.
std::vector<Part> parts_of(const Config& config, PixelFormat format);
/// Returns the same parts as quantities.
std::vector<Quantity> part_quantities(const Config& config, PixelFormat format);
/// Returns the way to join two arrays of `part`. Not for kRealMean and kRealSquares, which are joined with the counts.
PartArray part_array(Part part, PixelFormat format) noexcept;

/// Writes the sums of pixels [first, last) unchanged, from element `first` on.
void write_parts(const Sums& sums, const AccumulatedArrays& to, std::size_t first, std::size_t last) noexcept;
/// Adds elements [first, first + count) of the parts to the first `count` pixels of `sums`. Integers are exact; sums of
/// reals are rounded once more, and Chan's formula joins means and squared distances.
void add_parts(Sums& sums, const AccumulatedArrays& parts, std::size_t first, std::size_t count) noexcept;

/// Makes the join, as Joinable::join() does.
std::unique_ptr<Join> make_join(const Config& config, const Shape& shape, PixelFormat format);

}  // namespace rashpa::kernel::accumulate
