// SPDX-License-Identifier: Apache-2.0
/// Peak finders and sparsification on an OpenCL device against unit cpu: the same peaks, lists and backgrounds of whole
/// numbers, bit for bit.
#include <cmath>

#include "rashpa/kernel/peakfinder/peakfinder.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/sparsify/sparsify.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel {
namespace {

constexpr Shape kShape{131, 97};

/// Background that falls with the radius, spots, masked pixels.
template <typename T>
std::vector<std::byte> spots(std::mt19937& random, const Shape& shape, T masked) {
  std::vector<T> image(shape.pixels());
  for (std::size_t p = 0; p < image.size(); ++p) {
    const std::size_t column = p % shape.width, row = p / shape.width;
    const double r = std::hypot(static_cast<double>(column) - 63.8, static_cast<double>(row) - 40.3);
    const double mean = 1 + 6 * std::exp(-r / 40);
    image[p] = static_cast<T>(std::poisson_distribution<int>(mean)(random));
    if (random() % 100 == 0) image[p] = masked;
  }
  for (int spot = 0; spot < 30; ++spot) {
    const std::size_t at = random() % image.size();
    for (const std::size_t beside : {at, at + 1, at + shape.width, at + shape.width + 1}) {
      if (beside < image.size() && image[beside] != masked) image[beside] = static_cast<T>(40 + random() % 60);
    }
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(image.data());
  return {bytes, bytes + image.size() * sizeof(T)};
}

class RingsOpencl : public opencl::OpenclTest {
 protected:
  void SetUp() override {
    OpenclTest::SetUp();
    if (device != nullptr && !device->info().doubles) GTEST_SKIP() << "left out: the device has no double precision";
  }
  opencl::Case images(PixelFormat format, const Shape& shape = kShape) {
    opencl::Case given{shape, format, {}};
    for (int i = 0; i < 3; ++i) {
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
  /// Compares a device that the host shares the images with, and one that it does not share them with.
  void expect_same(const Step& step, opencl::Case given) {
    SCOPED_TRACE(testing::Message() << pixel_name(given.format.type) << ", " << given.shape.width << " x "
                                    << given.shape.height);
    opencl::expect_as_cpu(*device, step, given);
    given.delivered = false;
    opencl::expect_as_cpu(*device, step, given);
  }
  std::mt19937 random{17};
};

TEST_F(RingsOpencl, peakfinder8_finds_the_same) {
  peakfinder8::Config config{.threshold = 20, .min_snr = 5, .beam_x = 64.3, .beam_y = 40.8};
  for (const PixelType type : {PixelType::u8, PixelType::i16, PixelType::u32, PixelType::f32}) {
    expect_same(*peakfinder8::step_of(config), images(delivered(type)));
  }
  for (const Shape shape : {Shape{64, 64}, Shape{3, 200}, Shape{200, 2}}) {
    expect_same(*peakfinder8::step_of(config), images(delivered(PixelType::u16), shape));
  }
  config.panel_width = 40;
  config.panel_height = 30;
  config.max_radius = 70;
  expect_same(*peakfinder8::step_of(config), images(delivered(PixelType::u16)));
  config.max_peaks = 2;
  expect_same(*peakfinder8::step_of(config), images(delivered(PixelType::u16)));
}

TEST_F(RingsOpencl, peakfinder_finds_the_same) {
  peakfinder::Config config;
  config.beam_x = 64.3;
  config.beam_y = 40.8;
  config.bins = 40;
  expect_same(*peakfinder::step_of(config), images({PixelType::i16, Masked::minimum}));
  expect_same(*peakfinder::step_of(config), images(delivered(PixelType::f32)));
  for (const auto model :
       {sigma_clip::ErrorModel::poisson, sigma_clip::ErrorModel::azimuthal, sigma_clip::ErrorModel::hybrid}) {
    for (const std::uint32_t cycles : {0U, 1U, 5U}) {
      config.error_model = model;
      config.cycles = cycles;
      config.clip = cycles == 1 ? 5 : 0;
      expect_same(*peakfinder::step_of(config), images(delivered(PixelType::u16)));
    }
  }
}

TEST_F(RingsOpencl, rings_of_which_no_pixel_is_left_are_the_same) {
  sparsify::Config config;
  config.beam_x = 64.3;
  config.beam_y = 40.8;
  for (const auto model :
       {sigma_clip::ErrorModel::poisson, sigma_clip::ErrorModel::azimuthal, sigma_clip::ErrorModel::hybrid}) {
    for (const std::uint32_t bins : {50U, 3000U}) {  // many pixels in a ring; three of them, or none
      config.error_model = model;
      config.bins = bins;
      config.capacity = 0.5;
      std::vector<std::uint32_t> image(kShape.pixels(), 4);
      for (int outlier = 0; outlier < 40; ++outlier) image[random() % image.size()] = 1000000;
      const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
      opencl::Case given{kShape, delivered(PixelType::u32), {}};
      given.images.emplace_back(bytes, bytes + image.size() * sizeof(image[0]));
      expect_same(*sparsify::step_of(config), given);
    }
  }
}

TEST_F(RingsOpencl, sparsify_lists_the_same) {
  sparsify::Config config;
  config.beam_x = 64.3;
  config.beam_y = 40.8;
  config.bins = 40;
  config.cutoff = 2;
  expect_same(*sparsify::step_of(config), images(delivered(PixelType::i32)));
  expect_same(*sparsify::step_of(config), images(delivered(PixelType::f32)));
  config.capacity = 0.001;
  expect_same(*sparsify::step_of(config), images(delivered(PixelType::u16)));
}

}  // namespace
}  // namespace rashpa::kernel
