// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/dual_crc.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/wire/testing.hpp"

namespace rashpa::wire {
namespace {

TEST(DualCrc, equals_the_two_checksums_of_core_for_every_length_start_and_way) {
  std::vector<std::byte> bytes(5000);
  testing::fill(bytes, 3);
  CrcPair before{0, 0};
  for (std::size_t size = 0; size <= 4200; size += size < 600 ? 1 : 97) {
    const auto part = std::span(bytes).subspan(size % 17, size);
    const CrcPair expected{crc32(part, before.crc32), crc32c(part, before.crc32c)};
    ASSERT_EQ(dual_crc(part, before), expected) << size;
    for (const DualCrcWay& way : dual_crc_ways()) {
      if (size >= kDualCrcShortest) {
        ASSERT_EQ(way.run(part, before), expected) << way.name << ", " << size;
      }
    }
    before = expected;
  }
}

TEST(DualCrc, checksums_of_two_runs_join) {
  std::vector<std::byte> bytes(3000);
  testing::fill(bytes, 4);
  Crc32cJoin join;
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 73) {
    const auto first = std::span<const std::byte>(bytes).first(cut);
    const auto second = std::span<const std::byte>(bytes).subspan(cut);
    EXPECT_EQ(join(crc32c(first), crc32c(second), second.size()), crc32c(bytes)) << cut;
  }
}

}  // namespace
}  // namespace rashpa::wire
