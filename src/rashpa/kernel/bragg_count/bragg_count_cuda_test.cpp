// SPDX-License-Identifier: Apache-2.0
/// The CUDA kernel against the plain reference, on a GPU. RASHPA_SEED repeats a run.
#include "rashpa/kernel/bragg_count/bragg_count_cuda.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"

namespace rashpa::kernel::bragg_count {
namespace {

using Photons = std::vector<std::int16_t>;
constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};

template <typename T>
void expect_equal(const std::vector<std::vector<T>>& images, std::int32_t threshold, PixelFormat format = kPhotons) {
  const std::size_t pixels = images.front().size();
  const std::size_t stride = (pixels + 15) / 16 * 16 + 16;
  // Pixels between the images must not be counted.
  std::vector<T> all(images.size() * stride, static_cast<T>(photon_range(format).most));
  std::vector<std::uint32_t> truth;
  std::vector<std::uint32_t> begin;
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::copy(images[i].begin(), images[i].end(), all.begin() + static_cast<std::ptrdiff_t>(i * stride));
    begin.push_back(static_cast<std::uint32_t>(17 * i));
    truth.push_back(begin.back() + count_reference(images[i].data(), format, pixels, threshold));
  }
  const DeviceArray<T> photons(all);
  const DeviceArray<std::uint32_t> bright(begin);
  const cuda::Batch batch{.images = photons.data(),
                          .format = format,
                          .stride = stride,
                          .pixels = static_cast<std::uint32_t>(pixels),
                          .count = static_cast<std::uint32_t>(images.size())};
  memory::cuda::check(cuda::count(batch, threshold, bright.data(), nullptr), "count");
  memory::cuda::check(cudaDeviceSynchronize(), "count");
  EXPECT_EQ(bright.download(), truth) << pixels << " pixels, threshold " << threshold;
}

TEST(BraggCountCuda, images_of_every_integer_type_are_counted_as_the_reference_does) {
  std::mt19937 random(test_seed());
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      std::vector<std::vector<T>> images(3, std::vector<T>(20'011));
      for (auto& image : images) {
        for (auto& pixel : image) pixel = static_cast<T>(random() % 3 == 0 ? random() : random() % 20);
      }
      for (const std::int32_t threshold : {1, 10, 254, 65535, 1 << 30})
        expect_equal(images, threshold, delivered(type));
    });
  }
}

TEST(BraggCountCuda, random_images_of_odd_sizes_are_counted_as_the_reference_does) {
  std::mt19937 random(test_seed());
  for (const std::size_t pixels : {1U, 7U, 8U, 9U, 255U, 2047U, 8191U, 8192U, 8193U, 20'003U}) {
    std::vector<Photons> images(1 + random() % 5, Photons(pixels));
    for (auto& image : images) {
      for (auto& p : image) p = static_cast<std::int16_t>(random() % 3 == 0 ? random() : random() % 20);
      image[random() % pixels] = kMaskedPhotons;
      image[random() % pixels] = kSaturatedPhotons;
    }
    for (const int threshold : {INT16_MIN, -1, 0, 1, 10, INT16_MAX}) {
      expect_equal(images, threshold);
    }
  }
}

TEST(BraggCountCudaLarge, more_images_than_a_grid_has_rows_are_counted) {
  std::mt19937 random(test_seed());
  std::vector<Photons> images(70'000, Photons(3));
  for (auto& image : images) image[1] = static_cast<std::int16_t>(random());
  expect_equal(images, 5);
}

}  // namespace
}  // namespace rashpa::kernel::bragg_count
