// SPDX-License-Identifier: Apache-2.0
/// The kernel on a GPU against unit cpu: run by `make test-device`. Peaks of whole numbers are the same, bit for bit.
#include <cmath>

#include "rashpa/kernel/cuda_testing.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"

namespace rashpa::kernel::peakfinder8 {
namespace {

/// Background that falls with the radius, spots of many sizes, masked pixels.
template <typename T>
std::vector<std::byte> spots(std::mt19937& random, const Shape& shape, T masked) {
  std::vector<T> image(shape.pixels());
  for (std::size_t p = 0; p < image.size(); ++p) {
    const std::size_t column = p % shape.width, row = p / shape.width;
    const double r = std::hypot(static_cast<double>(column) - 63.8, static_cast<double>(row) - 40.3);
    image[p] = static_cast<T>(std::poisson_distribution<int>(1 + 6 * std::exp(-r / 40))(random));
    if (random() % 100 == 0) image[p] = masked;
  }
  for (std::size_t spot = 0; spot < shape.pixels() / 400; ++spot) {
    const std::size_t at = random() % image.size();
    const std::size_t width = 1 + random() % 4, height = 1 + random() % 4;
    for (std::size_t dy = 0; dy < height; ++dy) {
      for (std::size_t dx = 0; dx < width; ++dx) {
        const std::size_t beside = at + dy * shape.width + dx;
        if (beside < image.size() && image[beside] != masked && random() % 5 != 0) {
          image[beside] = static_cast<T>(40 + random() % 60);
        }
      }
    }
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(image.data());
  return {bytes, bytes + image.size() * sizeof(T)};
}

opencl::Case images(std::mt19937& random, PixelFormat format, const Shape& shape) {
  opencl::Case given{shape, format, {}};
  for (int i = 0; i < 4; ++i) {
    if (format.type == PixelType::f32) {
      given.images.push_back(spots(random, shape, std::numeric_limits<float>::quiet_NaN()));
      continue;
    }
    given.images.push_back(with_type(format.type, [&]<typename T>(T) {
      const T masked = format.masked == Masked::maximum    ? std::numeric_limits<T>::max()
                       : format.masked == Masked::negative ? static_cast<T>(-1)
                                                           : std::numeric_limits<T>::min();
      return spots(random, shape, masked);
    }));
  }
  return given;
}

std::size_t found_in(const opencl::Everything& all) {
  std::size_t rows = 0;
  for (const auto& image : all.images) rows += image.table.size();
  return rows;
}

class Peakfinder8Cuda : public testing::Test {
 protected:
  void expect_same(const Config& given_config, PixelFormat format, const Shape& shape, bool finds = true) {
    SCOPED_TRACE(testing::Message() << pixel_name(format.type) << ", " << shape.width << " x " << shape.height
                                    << ", RASHPA_SEED=" << test_seed());
    const opencl::Case given = images(random, format, shape);
    const auto step = step_of(given_config);
    if (finds) {
      EXPECT_GT(found_in(opencl::on_cpu(*step, given)), 0U) << "nothing is compared";
    }
    cuda::expect_as_cpu(*step, given);
  }
  std::mt19937 random{test_seed()};
  Config config{.threshold = 20, .min_snr = 5, .beam_x = 64.3, .beam_y = 40.8};
};

TEST_F(Peakfinder8Cuda, peaks_of_every_type_are_the_same) {
  for (const PixelType type :
       {PixelType::u8, PixelType::i16, PixelType::u16, PixelType::i32, PixelType::u32, PixelType::f32}) {
    expect_same(config, delivered(type), {131, 97});
  }
  expect_same(config, {PixelType::i16, Masked::minimum}, {512, 512});
}

TEST_F(Peakfinder8Cuda, images_and_panels_of_any_shape) {
  expect_same(config, delivered(PixelType::u16), {64, 64});
  for (const Shape shape : {Shape{3, 200}, Shape{200, 2}, Shape{33, 31}}) {
    expect_same(config, delivered(PixelType::u16), shape, false);
  }
  config.panel_width = 40;
  config.panel_height = 30;
  config.max_radius = 70;
  expect_same(config, delivered(PixelType::u16), {131, 97});
}

TEST_F(Peakfinder8Cuda, sizes_of_peaks_and_of_their_background) {
  config.min_pixels = 1;
  config.max_pixels = 4;
  config.local_bg_radius = 5;
  expect_same(config, delivered(PixelType::u16), {300, 200});
  config.min_snr = 0.5;  // bright pixels are many, and touch
  config.threshold = 2;
  config.max_pixels = 2000;
  expect_same(config, delivered(PixelType::u16), {300, 200}, false);
}

TEST_F(Peakfinder8Cuda, more_peaks_than_there_is_room_for_are_an_error) {
  config.max_peaks = 2;
  const opencl::Case given = images(random, delivered(PixelType::u16), {300, 200});
  const auto step = step_of(config);
  ASSERT_TRUE(opencl::on_cpu(*step, given).images[0].failed);
  cuda::expect_as_cpu(*step, given);
}

}  // namespace
}  // namespace rashpa::kernel::peakfinder8
