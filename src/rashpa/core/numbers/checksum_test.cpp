// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/numbers/checksum.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace rashpa {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Checksum, published_check_values) {
  EXPECT_EQ(crc32c(bytes("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32(bytes("123456789")), 0xCBF43926U);
  EXPECT_EQ(crc32c({}), 0U);
  EXPECT_EQ(crc32({}), 0U);
}

TEST(Checksum, chains_over_every_split) {
  const std::string_view text = "the quick brown fox jumps over the lazy dog, forty-two times";
  for (std::size_t split = 0; split <= text.size(); ++split) {
    EXPECT_EQ(crc32c(bytes(text.substr(split)), crc32c(bytes(text.substr(0, split)))), crc32c(bytes(text)));
    EXPECT_EQ(crc32(bytes(text.substr(split)), crc32(bytes(text.substr(0, split)))), crc32(bytes(text)));
  }
}

TEST(Checksum, sums_of_parts_are_combined) {
  std::vector<std::byte> long_one(100'003);
  for (std::size_t i = 0; i < long_one.size(); ++i) long_one[i] = static_cast<std::byte>(i * 7 >> 3);
  const std::span<const std::byte> all(long_one);
  for (const std::size_t split : {0U, 1U, 4096U, 65'537U, 100'002U, 100'003U}) {
    const std::uint32_t head = crc32c(all.first(split)), tail = crc32c(all.subspan(split));
    EXPECT_EQ(crc32c_combined(head, tail, all.size() - split), crc32c(all)) << split;
  }
}

}  // namespace
}  // namespace rashpa
