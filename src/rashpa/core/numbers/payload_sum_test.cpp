// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/numbers/payload_sum.hpp"

#include <gtest/gtest.h>

#include <array>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa {
namespace {

TEST(PayloadSum, parts_that_were_compared_are_compared_again_and_no_others) {
  std::array<std::byte, 64> image{};  // 4 rows of 16 bytes: the left half of each, the right half of each
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::byte>(i * 7);
  const auto half = [&](std::uint64_t first, bool compared) {
    std::uint32_t crc = 0;
    for (std::uint64_t row = 0; row < 4; ++row) crc = crc32c({image.data() + first + row * 16, 8}, crc);
    return PayloadSum{first, 16, 8, 4, crc, true, compared};
  };
  const std::array both{half(0, true), half(8, true)}, left{half(0, true), half(8, false)},
      none{half(0, false), half(8, false)};
  EXPECT_TRUE(any_compared(both) && any_compared(left));
  EXPECT_FALSE(any_compared(none) || any_compared({}));
  EXPECT_TRUE(still_agree(both, image.data()) && still_agree({}, image.data()));
  image[3 * 16 + 15] = std::byte{1};  // right
  EXPECT_FALSE(still_agree(both, image.data()));
  EXPECT_TRUE(still_agree(left, image.data()) && still_agree(none, image.data()));
  image[2 * 16] = std::byte{1};  // left
  EXPECT_FALSE(still_agree(left, image.data()));
  EXPECT_TRUE(still_agree(none, image.data()));
}

TEST(PayloadSum, a_part_without_gaps_and_one_of_a_single_line_are_read_as_they_lie) {
  std::array<std::byte, 32> image{};
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::byte>(i);
  const PayloadSum whole{0, 8, 8, 4, crc32c(image), true, true},
      line{8, 0, 24, 1, crc32c({image.data() + 8, 24}), true, true};
  EXPECT_TRUE(still_agree({&whole, 1}, image.data()));
  EXPECT_TRUE(still_agree({&line, 1}, image.data()));
  image[31] = std::byte{0};
  EXPECT_FALSE(still_agree({&whole, 1}, image.data()));
  EXPECT_FALSE(still_agree({&line, 1}, image.data()));
}

}  // namespace
}  // namespace rashpa
