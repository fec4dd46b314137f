// SPDX-License-Identifier: Apache-2.0
/// The CUDA compaction against the plain reference, on a GPU. RASHPA_SEED repeats a run.
#include "rashpa/kernel/csr/csr_cuda.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"

namespace rashpa::kernel::csr {
namespace {

using Photons = std::vector<std::int16_t>;
enum class By { marks, photons };

constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};

constexpr std::uint32_t kPoisonIndex = 0xDEADBEEF;
constexpr std::int16_t kPoisonValue = 0x5A5A;

/// Images of one size, their kept pixels, and the compacted ones (empty: all).
struct Job {
  const std::vector<Photons>& images;
  std::int16_t threshold;
  std::size_t capacity;
  std::vector<std::uint8_t> work{};
  std::size_t pixels = images.front().size();
  std::size_t stride = (pixels + 7) / 8 * 8 + 8;
  std::size_t marks_stride = pixels / 64 + 2;
  std::size_t list_stride = capacity + 5;

  [[nodiscard]] bool works(std::size_t image) const { return work.empty() || work[image] != 0; }
};

struct Lists {
  std::vector<std::uint32_t> index;
  Photons value;
  std::vector<std::uint32_t> entries;

  explicit Lists(const Job& job)
      : index(job.images.size() * job.list_stride, kPoisonIndex),
        value(job.images.size() * job.list_stride, kPoisonValue),
        entries(job.images.size(), 12345) {}
};

Lists expected(const Job& job) {
  Lists lists(job);
  for (std::size_t i = 0; i < job.images.size(); ++i) {
    if (!job.works(i)) continue;
    const Entries out{lists.index.data() + i * job.list_stride, lists.value.data() + i * job.list_stride, job.capacity};
    const std::size_t entries = compact_reference(job.images[i].data(), kPhotons, job.pixels, job.threshold, out);
    lists.entries[i] = entries == kOverflow ? cuda::kOverflow32 : static_cast<std::uint32_t>(entries);
  }
  return lists;
}

Lists on_device(const Job& job, By by) {
  Photons all(job.images.size() * job.stride, kSaturatedPhotons);
  std::vector<std::uint64_t> marks(job.images.size() * job.marks_stride, ~std::uint64_t{0});
  for (std::size_t i = 0; i < job.images.size(); ++i) {
    std::copy(job.images[i].begin(), job.images[i].end(), all.begin() + static_cast<std::ptrdiff_t>(i * job.stride));
    std::uint64_t* words = marks.data() + i * job.marks_stride;
    std::fill_n(words, (job.pixels + 63) / 64, 0);
    for (std::size_t p = 0; p < job.pixels; ++p) {
      const std::int16_t photons = job.images[i][p];
      if (photons != kMaskedPhotons && photons >= job.threshold) words[p / 64] |= std::uint64_t{1} << (p % 64);
    }
  }
  Lists lists(job);
  const auto count = static_cast<std::uint32_t>(job.images.size());
  const auto pixels = static_cast<std::uint32_t>(job.pixels);
  const DeviceArray<std::int16_t> photons(all);
  const DeviceArray<std::uint64_t> device_marks(marks);
  const DeviceArray<std::uint32_t> index(lists.index);
  const DeviceArray<std::int16_t> value(lists.value);
  const DeviceArray<std::uint32_t> entries(lists.entries);
  const DeviceArray<std::uint8_t> work(job.work.empty() ? std::vector<std::uint8_t>(1) : job.work);
  DeviceArray<std::uint8_t> scratch(cuda::scratch_bytes(pixels, count));
  scratch.fill(0xEE);
  cuda::Batch batch{};
  batch.images = photons.data();
  batch.format = kPhotons;
  batch.image_stride = job.stride;
  batch.pixels = pixels;
  batch.marks = by == By::marks ? device_marks.data() : nullptr;
  batch.marks_stride = job.marks_stride;
  batch.index = index.data();
  batch.value = value.data();
  batch.list_stride = job.list_stride;
  batch.capacity = job.capacity;
  batch.entries = entries.data();
  batch.work = job.work.empty() ? nullptr : work.data();
  batch.count = count;
  memory::cuda::check(by == By::marks ? cuda::compact_marked(batch, scratch.data(), nullptr)
                                      : cuda::compact(batch, job.threshold, scratch.data(), nullptr),
                      "compact");
  memory::cuda::check(cudaDeviceSynchronize(), "compact");
  lists.index = index.download();
  lists.value = value.download();
  lists.entries = entries.download();
  return lists;
}

/// Compares the device's lists with the reference, by marks and by photons. Of a list that overflows, only the memory
/// behind its capacity is compared.
void expect_equal(const Job& job) {
  const Lists truth = expected(job);
  for (const By by : {By::marks, By::photons}) {
    SCOPED_TRACE(testing::Message() << (by == By::marks ? "by marks, " : "by photons, ") << job.pixels
                                    << " pixels, capacity " << job.capacity << ", RASHPA_SEED=" << test_seed());
    const Lists got = on_device(job, by);
    EXPECT_EQ(got.entries, truth.entries);
    for (std::size_t i = 0; i < job.images.size(); ++i) {
      const std::size_t skip = truth.entries[i] == cuda::kOverflow32 ? job.capacity : 0;
      const auto begin = static_cast<std::ptrdiff_t>(i * job.list_stride + skip);
      const auto end = static_cast<std::ptrdiff_t>((i + 1) * job.list_stride);
      EXPECT_TRUE(std::equal(truth.index.begin() + begin, truth.index.begin() + end, got.index.begin() + begin))
          << "index of image " << i << " differs";
      EXPECT_TRUE(std::equal(truth.value.begin() + begin, truth.value.begin() + end, got.value.begin() + begin))
          << "value of image " << i << " differs";
    }
  }
}

Photons random_image(std::mt19937& random, std::size_t pixels, std::uint32_t filled_in_1000) {
  Photons photons(pixels);
  for (auto& p : photons) {
    p = static_cast<std::int16_t>(random() % 1000 < filled_in_1000 ? random() : 0);
    if (random() % 50 == 0) p = kMaskedPhotons;
  }
  return photons;
}

TEST(CsrCuda, empty_and_full_images_and_special_values_are_compacted) {
  expect_equal({{Photons(100, 0)}, 1, 10});
  expect_equal({{Photons(100, 7)}, 1, 100});
  expect_equal({{Photons{kMaskedPhotons, kSaturatedPhotons, -1, 0, 1}}, INT16_MIN, 5});
}

TEST(CsrCuda, capacity_exactly_reached_is_a_list_and_exceeded_is_an_overflow) {
  for (const std::size_t entries : {1U, 64U, 257U, 5000U}) {
    Photons photons(20'000, 0);
    for (std::size_t e = 0; e < entries; ++e) photons[e * 4 % 20'000 + e * 4 / 20'000] = 3;
    expect_equal({{photons, photons}, 1, entries});
    if (entries > 1) expect_equal({{photons, photons}, 1, entries - 1});
    expect_equal({{photons, Photons(20'000, 0)}, 1, entries + 1});
  }
}

TEST(CsrCuda, random_images_of_odd_sizes_are_compacted_as_the_reference_does) {
  std::mt19937 random(test_seed());
  for (const std::size_t pixels : {1U, 7U, 8U, 63U, 65U, 1000U, 16'383U, 16'385U, 33'000U}) {
    std::vector<Photons> images;
    std::vector<std::uint8_t> work;
    for (std::size_t i = 0; i < 1 + random() % 9; ++i) {
      images.push_back(random_image(random, pixels, static_cast<std::uint32_t>(random() % 1001)));
      work.push_back(random() % 3 == 0 ? 0 : 1);
    }
    const auto threshold = static_cast<std::int16_t>(1 + random() % 100);
    expect_equal({images, threshold, pixels});
    expect_equal({images, threshold, pixels, work});
    expect_equal({images, threshold, 1 + random() % pixels});
  }
}

TEST(CsrCudaLarge, images_of_many_tiles_are_compacted_in_order) {
  std::mt19937 random(test_seed());
  std::vector<Photons> images;
  for (const std::uint32_t filled : {0U, 2U, 20U, 300U, 1000U}) {
    images.push_back(random_image(random, std::size_t{2068} * 2165, filled));
  }
  expect_equal({images, 1, images[0].size() / 10});
  expect_equal({images, 1, images[0].size()});
}

TEST(CsrCudaLarge, many_images_are_compacted_at_once) {
  std::mt19937 random(test_seed());
  std::vector<Photons> images;
  images.reserve(500);
  for (std::uint32_t i = 0; i < 500; ++i) images.push_back(random_image(random, 70'001, i % 7));
  expect_equal({images, 1, 7000});
}

/// Detectors that deliver photons.
TEST(CsrCuda, images_of_every_integer_type_are_compacted_as_the_reference_does) {
  std::mt19937 random(test_seed());
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      constexpr std::size_t kPixels = 20'011;
      constexpr std::size_t kStride = 20'032;
      constexpr std::int32_t kThreshold = 9;
      std::vector<T> images(2 * kStride);
      for (auto& pixel : images) pixel = static_cast<T>(random() % 5 == 0 ? random() : random() % 12);
      const DeviceArray<T> pixels(images);
      const DeviceArray<std::uint32_t> index(2 * kPixels);
      const DeviceArray<T> value(2 * kPixels);
      const DeviceArray<std::uint32_t> entries(std::size_t{2} * 3);
      const DeviceArray<std::uint8_t> scratch(cuda::scratch_bytes(kPixels, 2));
      cuda::Batch batch{};
      batch.images = pixels.data();
      batch.format = delivered(type);
      batch.image_stride = kStride;
      batch.pixels = kPixels;
      batch.index = index.data();
      batch.value = value.data();
      batch.list_stride = kPixels;
      batch.capacity = kPixels;
      batch.entries = entries.data();
      batch.entries_stride = 3;
      batch.count = 2;
      memory::cuda::check(cuda::compact(batch, kThreshold, scratch.data(), nullptr), "compact");
      memory::cuda::check(cudaDeviceSynchronize(), "compact");
      for (std::size_t i = 0; i < 2; ++i) {
        std::vector<std::uint32_t> true_index(kPixels);
        std::vector<T> true_value(kPixels);
        const std::size_t count = compact_reference(images.data() + i * kStride, delivered(type), kPixels, kThreshold,
                                                    {true_index.data(), true_value.data(), kPixels});
        ASSERT_EQ(entries.download()[3 * i], count);
        const auto found_index = index.download();
        const auto found_value = value.download();
        for (std::size_t e = 0; e < count; ++e) {
          ASSERT_EQ(found_index[i * kPixels + e], true_index[e]);
          ASSERT_EQ(found_value[i * kPixels + e], true_value[e]);
        }
      }
    });
  }
}

}  // namespace
}  // namespace rashpa::kernel::csr
