// SPDX-License-Identifier: Apache-2.0
/// Peaks and lists above a sigma-clipped background, on a GPU against unit cpu: run by `make test-device`. Of whole
/// numbers both are the same, bit for bit.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "rashpa/kernel/peakfinder/peakfinder.hpp"
#include "rashpa/kernel/sparsify/sparsify.hpp"
#include "rashpa/kernel/testing/cuda_testing.hpp"
#include "rashpa/kernel/testing/spots_testing.hpp"

namespace rashpa::kernel::sigma_clip {
namespace {

constexpr PixelFormat kMinimum{PixelType::i16, Masked::minimum};

class SigmaClipCuda : public testing::Test {
 protected:
  void expect_same(PixelFormat format, const Shape& shape, bool finds = true) {
    SCOPED_TRACE(
        fmt::format("{}, {} x {}, RASHPA_SEED={}", pixel_name(format.type), shape.width, shape.height, test_seed()));
    const opencl::Case given = opencl::spots(random, format, shape);
    peakfinder::Config peaks;
    static_cast<Config&>(peaks) = config;
    peaks.patch = patch;
    peaks.connected = connected;
    sparsify::Config pixels;
    static_cast<Config&>(pixels) = config;
    pixels.capacity = 0.5;
    const auto finder = peakfinder::step_of(peaks);
    const auto sparsifier = sparsify::step_of(pixels);
    if (finds) {
      EXPECT_FALSE(opencl::on_cpu(*finder, given).images[0].table.empty()) << "nothing is compared";
      EXPECT_FALSE(opencl::on_cpu(*sparsifier, given).images[0].index.empty()) << "nothing is compared";
    }
    cuda::expect_as_cpu(*finder, given);
    cuda::expect_as_cpu(*sparsifier, given);
  }
  std::mt19937 random{test_seed()};
  Config config{.beam_x = 64.3, .beam_y = 40.8, .bins = 50};
  std::uint32_t patch = 5, connected = 3;
};

TEST_F(SigmaClipCuda, every_type_with_every_error_model) {
  for (const ErrorModel model : {ErrorModel::poisson, ErrorModel::azimuthal, ErrorModel::hybrid}) {
    config.error_model = model;
    for (const PixelType type :
         {PixelType::u8, PixelType::i16, PixelType::u16, PixelType::i32, PixelType::u32, PixelType::f32}) {
      expect_same(delivered(type), {131, 97});
    }
    expect_same(kMinimum, {512, 512});
  }
}

TEST_F(SigmaClipCuda, images_of_any_shape_and_part_of_them) {
  for (const Shape shape : {Shape{3, 200}, Shape{200, 2}, Shape{33, 31}, Shape{64, 64}}) {
    expect_same(delivered(PixelType::u16), shape, false);
  }
  config.min_radius = 12;
  config.max_radius = 70;
  expect_same(delivered(PixelType::u16), {131, 97});
}

TEST_F(SigmaClipCuda, cycles_clip_noise_and_cutoff) {
  for (const std::uint32_t cycles : {0U, 1U, 20U}) {
    for (const ErrorModel model : {ErrorModel::poisson, ErrorModel::hybrid}) {
      config.cycles = cycles;
      config.error_model = model;
      expect_same(delivered(PixelType::u16), {300, 200}, false);
    }
  }
  config.clip = 6;
  config.noise = 0;
  config.cutoff = 0;  // half of all pixels are above
  config.bins = 2;    // rings that shared memory does not hold
  expect_same(delivered(PixelType::u16), {300, 200}, false);
  expect_same(delivered(PixelType::u16), {700, 500}, false);
  config = {.beam_x = 64.3, .beam_y = 40.8, .bins = 5000};
  patch = 9;
  connected = 1;
  expect_same(delivered(PixelType::u16), {300, 200}, false);
}

TEST_F(SigmaClipCuda, rings_of_which_no_pixel_is_left) {
  const Shape shape{131, 97};
  for (const ErrorModel model : {ErrorModel::poisson, ErrorModel::azimuthal, ErrorModel::hybrid}) {
    config.error_model = model;
    for (const std::uint32_t bins : {50U, 3000U}) {  // many pixels in a ring; three of them, or none
      config.bins = bins;
      opencl::Case given{shape, delivered(PixelType::u32), {}};
      std::vector<std::uint32_t> image(shape.pixels(), 4);
      for (int outlier = 0; outlier < 40; ++outlier) image[random() % image.size()] = 1000000;
      const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
      given.images.emplace_back(bytes, bytes + image.size() * sizeof(image[0]));
      sparsify::Config pixels;
      static_cast<Config&>(pixels) = config;
      pixels.capacity = 0.5;
      peakfinder::Config peaks;
      static_cast<Config&>(peaks) = config;
      cuda::expect_as_cpu(*sparsify::step_of(pixels), given);
      cuda::expect_as_cpu(*peakfinder::step_of(peaks), given);
    }
  }
}

TEST_F(SigmaClipCuda, peaks_of_other_panels_are_passed_over) {
  const Shape shape{131, 97};
  auto geometry = std::make_shared<PixelGeometry>();
  geometry->shape = shape;
  for (std::uint32_t y = 0; y < shape.height; ++y) {
    for (std::uint32_t x = 0; x < shape.width; ++x) {
      geometry->radius.push_back(static_cast<float>(std::hypot(x - 60.0, y - 40.0)));
    }
  }
  geometry->panels = {{.left = 0, .right = 60, .top = 0, .bottom = 97},
                      {.left = 64, .right = 131, .top = 10, .bottom = 90}};
  config.geometry_read = geometry;
  expect_same(delivered(PixelType::u16), shape);
}

TEST_F(SigmaClipCuda, more_than_there_is_room_for_is_an_error_that_says_so) {
  const opencl::Case given = opencl::spots(random, delivered(PixelType::u16), {300, 200});
  peakfinder::Config peaks;
  static_cast<Config&>(peaks) = config;
  peaks.max_peaks = 2;
  sparsify::Config pixels;
  static_cast<Config&>(pixels) = config;
  pixels.capacity = 1e-4;
  for (const auto& step : {peakfinder::step_of(peaks), sparsify::step_of(pixels)}) {
    ASSERT_TRUE(opencl::on_cpu(*step, given).images[0].failed);
    cuda::expect_as_cpu(*step, given);
  }
}

}  // namespace
}  // namespace rashpa::kernel::sigma_clip
