// SPDX-License-Identifier: Apache-2.0
/// The kernel on a GPU against unit cpu, parts wherever they lie, of any size, right and wrong ones: run by
/// `make test-device`.
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/kernel/testing/cuda_testing.hpp"

namespace rashpa::kernel::checksum {
namespace {

using Image = std::vector<std::byte>;
using Sums = std::vector<PayloadSum>;

/// The record of that rectangle's source, for an image of `bytes` a row.
PayloadSum sum_of(const Image& image, std::uint64_t bytes, std::uint32_t x, std::uint32_t y, std::uint32_t width,
                  std::uint32_t height) {
  PayloadSum sum{y * bytes + x, bytes, width, height, 0, true};
  sum.crc32c = crc_of(image, {sum.first, sum.pitch, sum.line_bytes, sum.lines});
  return sum;
}

void expect_as_cpu(const opencl::Case& given) {
  for (const OnMismatch what : {OnMismatch::error, OnMismatch::veto}) cuda::expect_as_cpu(*step_of({what}), given);
}

TEST(ChecksumCuda, parts_are_verified_wherever_they_lie) {
  std::mt19937 random(test_seed());
  for (const Shape shape : {Shape{200, 60}, Shape{1031, 517}, Shape{2048, 300}, Shape{3, 1}}) {
    SCOPED_TRACE(testing::Message() << shape.width << " x " << shape.height << ", RASHPA_SEED=" << test_seed());
    const std::uint32_t w = shape.width, h = shape.height;
    opencl::Case given{shape, delivered(PixelType::u8), {}};
    const auto add = [&](auto sums_of) {
      Image image(shape.pixels());
      for (std::byte& one : image) one = static_cast<std::byte>(random());
      given.sums.push_back(sums_of(image));
      given.images.push_back(std::move(image));
    };
    add([&](const Image&) { return Sums{}; });
    add([&](const Image&) { return Sums{}; });  // left out
    add([&](const Image& image) { return Sums{sum_of(image, w, 0, 0, w, h)}; });
    if (h > 50) {
      add([&](const Image& image) { return Sums{sum_of(image, w, 0, 0, w, 20), sum_of(image, w, 0, 20, w, h - 20)}; });
      add([&](const Image& image) { return Sums{sum_of(image, w, 0, 20, w, h - 20), sum_of(image, w, 0, 0, w, 20)}; });
      add([&](const Image& image) { return Sums{sum_of(image, w, 0, 0, w, 20), sum_of(image, w, 0, 30, w, h - 30)}; });
      add([&](const Image& image) { return Sums{sum_of(image, w, 0, 0, 96, h), sum_of(image, w, 96, 0, w - 96, h)}; });
      add([&](const Image& image) { return Sums{sum_of(image, w, 3, 5, 7, 1)}; });
      add([&](const Image& image) {
        Sums sums{sum_of(image, w, 0, 0, w, 20), sum_of(image, w, 50, 20, 101, 30)};
        sums[1].crc32c ^= 1U;
        return sums;
      });
      add([&](const Image& image) {
        Sums sums{sum_of(image, w, 0, 0, w, 20), sum_of(image, w, 0, 20, w, h - 20)};
        sums[0].known = false;
        return sums;
      });
    }
    expect_as_cpu(given);
  }
}

TEST(ChecksumCuda, every_bit_counts) {
  const Shape shape{9000, 1};
  const Image image(shape.pixels());
  const PayloadSum sum = sum_of(image, 9000, 0, 0, 9000, 1);
  opencl::Case given{shape, delivered(PixelType::u8), std::vector<Image>(2, image)};
  for (std::size_t bit = test_seed() % 89; bit < shape.pixels() * 8; bit += 89) {
    given.images.push_back(image);
    given.images.back()[bit / 8] = static_cast<std::byte>(1U << (bit % 8));
  }
  given.sums.assign(given.images.size(), {sum});
  expect_as_cpu(given);
}

TEST(ChecksumCuda, more_parts_than_there_is_room_for_are_looked_at_by_the_host) {
  const Image image(std::size_t{256} * 40, std::byte{7});
  opencl::Case given{{256, 40}, delivered(PixelType::u8), {image}};
  given.sums.resize(1);
  for (std::uint32_t part = 0; part < 400; ++part) {
    given.sums[0].push_back(sum_of(image, 256, part % 10, part / 10, 11 + part % 60, 1 + part % 3 / 2));
  }
  expect_as_cpu(given);
  given.sums[0][399].crc32c = 3;
  expect_as_cpu(given);
}

TEST(ChecksumCuda, the_first_part_that_is_wrong_is_named) {
  const Image image(std::size_t{256} * 40, std::byte{7});
  opencl::Case given{{256, 40}, delivered(PixelType::u8), {image}};
  given.sums.push_back({sum_of(image, 256, 0, 0, 256, 20), sum_of(image, 256, 0, 20, 256, 20)});
  given.sums[0][1].crc32c ^= 4U;
  const auto step = step_of(Config{});
  const auto pass = step->on_cuda({.shape = given.shape, .in = given.format, .stack = 1, .places = 1});
  EXPECT_EQ(pass->failure(), "");
  EXPECT_TRUE(cuda::on_device(*step, given, *pass).images[0].failed);
  EXPECT_NE(pass->failure().find("DTP 1 "), std::string::npos) << pass->failure();
}

}  // namespace
}  // namespace rashpa::kernel::checksum
