// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Test images with numbers that all follow from the image's number, for tests of rings.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/feedback/ring.hpp"
#include "rashpa/feedback/ring_writer.hpp"

namespace rashpa::feedback::testing {

inline constexpr std::uint32_t kColumns = 3;
inline constexpr TableShape kShape{.columns = 4, .capacity = 20};

inline RingSize small(std::uint64_t entries, std::uint64_t rows_bytes = 0) {
  return {.entries = entries, .rows_bytes = rows_bytes, .columns = kColumns, .tables = {kShape}};
}

/// Makes image n: all scalars, and all values of its n mod 21 rows, are n.
class Numbered {
 public:
  const StackImage& image(std::uint64_t n) {
    image_.index = n;
    image_.frame_number = 2 * n;
    image_.timestamp_ns = 3 * n;
    image_.flags = static_cast<std::uint32_t>(n);
    image_.completeness = Completeness::complete;
    image_.decision = Decision::accepted;
    image_.measured = true;
    image_.last_packet_ns = static_cast<std::int64_t>(n) + 1;
    for (std::size_t c = 0; c < kColumns; ++c) image_.scalars[c] = Scalar::of_count(n);
    rows_.fill(Scalar::of_count(n));
    image_.tables[0] = {rows_.data(), rows_of(n)};
    return image_;
  }
  static std::uint32_t rows_of(std::uint64_t n) { return static_cast<std::uint32_t>(n % (kShape.capacity + 1)); }

 private:
  StackImage image_;
  std::array<Scalar, std::size_t{kShape.columns} * kShape.capacity> rows_{};
};

/// Returns true when all words of a record are those of image n.
inline bool is_image(std::span<const std::uint64_t> record, std::uint64_t n) {
  const std::size_t head = entry::kScalars + kColumns;
  if (record.size() != head + std::size_t{Numbered::rows_of(n)} * kShape.columns) return false;
  if (record[entry::kSequence] != 2 * n + 2 || record[entry::kIndex] != n || record[entry::kFrame] != 2 * n)
    return false;
  if (record[entry::kTimestamp] != 3 * n || record[entry::kLastPacket] != n + 1 || record[entry::kMeasured] != 1)
    return false;
  if (record[entry::kFate] != (std::uint32_t(n) | std::uint64_t{1} << 32U | std::uint64_t{1} << 40U)) return false;
  for (const std::uint64_t word : record.subspan(entry::kScalars)) {
    if (word != n) return false;
  }
  return true;
}

}  // namespace rashpa::feedback::testing
