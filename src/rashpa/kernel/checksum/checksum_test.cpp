// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/checksum/checksum.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::kernel::checksum {
namespace {

constexpr std::uint32_t kWidth = 200, kHeight = 60;  // bytes
constexpr std::size_t kBytes = std::size_t{kWidth} * kHeight;

std::vector<std::byte> image_of(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> image(kBytes);
  for (auto& one : image) one = static_cast<std::byte>(random());
  return image;
}

/// The record of that rectangle's source.
PayloadSum sum_of(std::span<const std::byte> image, std::uint32_t x, std::uint32_t y, std::uint32_t width,
                  std::uint32_t height) {
  PayloadSum sum{y * std::uint64_t{kWidth} + x, kWidth, width, height, 0, true};
  for (std::uint32_t line = 0; line < height; ++line) {
    sum.crc32c = crc32c(image.subspan(sum.first + line * std::uint64_t{kWidth}, width), sum.crc32c);
  }
  return sum;
}

TEST(Checksum, parts_are_verified_wherever_they_lie) {
  const auto image = image_of(1);
  const std::uint32_t whole = crc32c(image);
  const std::vector<std::vector<PayloadSum>> layouts{
      {},
      {sum_of(image, 0, 0, kWidth, kHeight)},
      {sum_of(image, 0, 0, kWidth, 20), sum_of(image, 0, 20, kWidth, 40)},
      {sum_of(image, 0, 20, kWidth, 40), sum_of(image, 0, 0, kWidth, 20)},
      {sum_of(image, 0, 0, kWidth, 20), sum_of(image, 0, 30, kWidth, 30)},
      {sum_of(image, 0, 0, 100, kHeight), sum_of(image, 100, 0, 100, kHeight)},
      {sum_of(image, 3, 5, 7, 1)}};
  for (const auto& sums : layouts) {
    const Result result = verify(image, sums);
    EXPECT_EQ(result.crc32c, whole);
    EXPECT_EQ(result.verified, sums.size());
    EXPECT_EQ(result.wrong, 0U);
  }
}

TEST(Checksum, one_bit_is_found_in_the_part_that_it_is_in) {
  const auto sent = image_of(2);
  const std::vector<PayloadSum> sums{sum_of(sent, 0, 0, 100, kHeight), sum_of(sent, 100, 0, 100, kHeight)};
  auto image = sent;
  image[150] ^= std::byte{0x10};
  const Result result = verify(image, sums);
  EXPECT_EQ(result.crc32c, crc32c(image));
  EXPECT_EQ(result.verified, 1U);
  EXPECT_EQ(result.wrong, 1U);
  EXPECT_EQ(result.first, 1U);
}

TEST(Checksum, parts_of_which_nothing_is_known_are_not_judged) {
  const auto image = image_of(3);
  std::vector<PayloadSum> sums{sum_of(image, 0, 0, kWidth, 20), sum_of(image, 0, 20, kWidth, 40)};
  sums[0].known = false;
  sums[0].crc32c = 1;
  const Result result = verify(image, sums);
  EXPECT_EQ(result.crc32c, crc32c(image));
  EXPECT_EQ(result.verified, 1U);
  EXPECT_EQ(result.wrong, 0U);
}

TEST(Checksum, the_pass_errs_or_vetoes) {
  const auto sent = image_of(4);
  auto image = sent;
  image[7] ^= std::byte{1};
  const PayloadSum good = sum_of(image, 0, 0, kWidth, kHeight), bad = sum_of(sent, 0, 0, kWidth, kHeight);
  for (const OnMismatch what : {OnMismatch::error, OnMismatch::veto}) {
    const auto step = step_of(Config{what});
    const auto pass =
        step->on_cpu({.shape = {kWidth, kHeight}, .in = delivered(PixelType::u8), .stack = 2, .places = 2});
    const std::byte* pixels[] = {image.data(), image.data()};
    const std::span<const PayloadSum> sums[] = {{&good, 1}, {&bad, 1}};
    pass->begin(2);
    for (std::size_t i = 0; i < 2; ++i) {
      pass->run(0, {i, 1, &pixels[i], nullptr, nullptr, nullptr, &sums[i]}, 0, kBytes);
    }
    EXPECT_EQ(pass->failure(), "");
    for (std::size_t i = 0; i < 2; ++i) {
      Scalar scalars[2];
      Finding finding{.scalars = scalars};
      pass->finish(i, finding);
      EXPECT_EQ(scalars[0].count(), crc32c(image));
      EXPECT_EQ(scalars[1].count(), i == 0 ? 1U : 0U);
      EXPECT_EQ(finding.failed, i == 1 && what == OnMismatch::error);
      EXPECT_EQ(finding.verdict, i == 1 && what == OnMismatch::veto ? 1 : 0);
    }
    EXPECT_EQ(pass->failure().find("CRC32C of DTP 0") != std::string::npos, what == OnMismatch::error);
  }
}

}  // namespace
}  // namespace rashpa::kernel::checksum
