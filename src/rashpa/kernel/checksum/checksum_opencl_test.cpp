// SPDX-License-Identifier: Apache-2.0
/// Checksums on an OpenCL device against unit cpu: parts wherever they lie, of any size, right and wrong ones.
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::checksum {
namespace {

using Image = std::vector<std::byte>;

/// The record of that rectangle's source, for an image of `bytes` a row.
PayloadSum sum_of(const Image& image, std::uint64_t bytes, std::uint32_t x, std::uint32_t y, std::uint32_t width,
                  std::uint32_t height) {
  PayloadSum sum{y * bytes + x, bytes, width, height, 0, true};
  sum.crc32c = crc_of(image, {sum.first, sum.pitch, sum.line_bytes, sum.lines});
  return sum;
}

class ChecksumOpencl : public opencl::OpenclTest {
 protected:
  void expect_as_cpu(const opencl::Case& given) const {
    for (const OnMismatch what : {OnMismatch::error, OnMismatch::veto}) {
      opencl::expect_as_cpu(*device, *step_of({what}), given);
    }
  }
};

TEST_F(ChecksumOpencl, parts_are_verified_wherever_they_lie) {
  std::mt19937 random(5);
  for (const Shape shape : {Shape{200, 60}, Shape{1031, 517}, Shape{3, 1}}) {
    const std::uint32_t w = shape.width, h = shape.height;
    opencl::Case given{shape, delivered(PixelType::u8), {}};
    const auto add = [&](auto sums_of) {
      Image image(shape.pixels());
      for (std::byte& one : image) one = static_cast<std::byte>(random());
      given.sums.push_back(sums_of(image));
      given.images.push_back(std::move(image));
    };
    using Sums = std::vector<PayloadSum>;
    add([&](const Image&) { return Sums{}; });
    add([&](const Image& image) { return Sums{sum_of(image, w, 0, 0, w, h)}; });
    if (h > 50) {
      add([&](const Image& image) { return Sums{sum_of(image, w, 0, 0, w, 20), sum_of(image, w, 0, 20, w, h - 20)}; });
      add([&](const Image& image) { return Sums{sum_of(image, w, 0, 20, w, h - 20), sum_of(image, w, 0, 0, w, 20)}; });
      add([&](const Image& image) { return Sums{sum_of(image, w, 0, 0, w, 20), sum_of(image, w, 0, 30, w, h - 30)}; });
      add([&](const Image& image) {
        return Sums{sum_of(image, w, 0, 0, 100, h), sum_of(image, w, 100, 0, w - 100, h)};
      });
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
    SCOPED_TRACE(testing::Message() << w << " x " << h);
    expect_as_cpu(given);
  }
}

TEST_F(ChecksumOpencl, more_parts_than_there_is_room_for_are_looked_at_by_the_host) {
  Image image(std::size_t{256} * 40, std::byte{7});
  opencl::Case given{{256, 40}, delivered(PixelType::u8), {image}};
  given.sums.resize(1);
  for (std::uint32_t part = 0; part < 400; ++part) {
    given.sums[0].push_back(sum_of(image, 256, part % 10, part / 10, 11 + part % 60, 1 + part % 3 / 2));
  }
  given.sums[0][399].lines = 1;
  given.sums[0][399].crc32c = 3;
  expect_as_cpu(given);
}

}  // namespace
}  // namespace rashpa::kernel::checksum
