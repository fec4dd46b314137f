// SPDX-License-Identifier: Apache-2.0
/// The kernel on a GPU against unit cpu: run by `make test-device`. Peaks of whole numbers are the same, bit for bit.
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/testing/cuda_testing.hpp"
#include "rashpa/kernel/testing/spots_testing.hpp"

namespace rashpa::kernel::peakfinder8 {
namespace {

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
    const opencl::Case given = opencl::spots(random, format, shape);
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

TEST_F(Peakfinder8Cuda, rings_of_which_no_pixel_is_left) {
  const Shape shape{131, 97};
  opencl::Case given = opencl::spots(random, delivered(PixelType::u16), shape);
  const Rings rings = rings_of(config, shape);
  for (auto& image : given.images) {
    auto* const pixels = reinterpret_cast<std::uint16_t*>(image.data());
    const auto from = static_cast<std::uint32_t>(random() % 40);
    for (std::size_t p = 0; p < shape.pixels(); ++p) {
      const std::uint32_t ring = rings.ring_of()[p];
      if (ring >= from && ring < from + 5) pixels[p] = UINT16_MAX;
    }
  }
  for (const auto& image : opencl::on_cpu(*step_of(config), given).images) {
    EXPECT_GE(image.scalars.at(2).count(), 5U) << "nothing is compared";
  }
  cuda::expect_as_cpu(*step_of(config), given);
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

/// The background of rings comes from counts of values, where those are small.
TEST_F(Peakfinder8Cuda, images_whose_values_are_counted_and_others_in_turn) {
  constexpr std::uint16_t kMore = 300, kMasked = 0xFFFF;
  for (const Shape shape : {Shape{300, 200}, Shape{131, 97}}) {
    const opencl::Case dim = opencl::spots(random, delivered(PixelType::u16), shape);
    opencl::Case bright{dim};
    for (auto& image : bright.images) {
      std::vector<std::uint16_t> pixels(shape.pixels());
      std::memcpy(pixels.data(), image.data(), image.size());
      for (auto& pixel : pixels) pixel = pixel == kMasked ? kMasked : static_cast<std::uint16_t>(pixel + kMore);
      std::memcpy(image.data(), pixels.data(), image.size());
    }
    const auto step = step_of(config);
    const opencl::testing_detail::Sizes sizes(*step, dim);
    const auto pass = step->on_cuda(opencl::testing_detail::setup_of(dim, sizes));
    ASSERT_NE(pass, nullptr);
    for (const bool is_bright : {false, true, true, true, false, false, false, true, false}) {
      const opencl::Case& given = is_bright ? bright : dim;
      const opencl::Everything truth = opencl::on_cpu(*step, given);
      const opencl::Everything found = cuda::on_device(*step, given, *pass);
      EXPECT_GT(found_in(truth), 0U);
      for (const std::size_t i : {0U, 2U, 3U}) {  // the second one is left out
        EXPECT_TRUE(found.images[i].table == truth.images[i].table);
        EXPECT_TRUE(found.images[i].scalars == truth.images[i].scalars);
      }
    }
  }
}

TEST_F(Peakfinder8Cuda, more_peaks_than_there_is_room_for_are_an_error) {
  config.max_peaks = 2;
  const opencl::Case given = opencl::spots(random, delivered(PixelType::u16), {300, 200});
  const auto step = step_of(config);
  ASSERT_TRUE(opencl::on_cpu(*step, given).images[0].failed);
  cuda::expect_as_cpu(*step, given);
}

}  // namespace
}  // namespace rashpa::kernel::peakfinder8
