// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/checksum.hpp"

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

}  // namespace
}  // namespace rashpa
