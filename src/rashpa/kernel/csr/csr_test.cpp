// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/csr/csr.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <array>
#include <limits>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::csr {
namespace {

constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};

template <typename T>
using Image = std::vector<T>;
using Photons = Image<std::int16_t>;

/// The results of a backend; empty lists and `overflow` when the capacity did not suffice.
template <typename T>
struct List {
  std::vector<std::uint32_t> index;
  Image<T> value;
  bool overflow = false;
  friend bool operator==(const List&, const List&) = default;
};
using Result = List<std::int16_t>;

template <typename T, class Compact>
List<T> run(Compact compact_with, std::size_t capacity) {
  constexpr std::uint32_t kGuard = 0xDEADBEEF;
  constexpr T kGuardValue = 0x5A;
  std::vector<std::uint32_t> index(capacity + kSlack + 1, kGuard);
  Image<T> value(capacity + kSlack + 1, kGuardValue);
  const std::size_t count = compact_with(Entries{index.data(), value.data(), capacity});
  EXPECT_EQ(index.back(), kGuard) << "written behind the slack";
  EXPECT_EQ(value.back(), kGuardValue) << "written behind the slack";
  if (count == kOverflow) return {{}, {}, true};
  EXPECT_LE(count, capacity);
  index.resize(count);
  value.resize(count);
  return {index, value, false};
}

template <typename T>
std::vector<std::uint64_t> marks_of(const Image<T>& image, PixelFormat format, std::int32_t threshold) {
  const PhotonRange range = from_threshold(format, threshold);
  std::vector<std::uint64_t> marks(image.size() / 64 + 1, 0);
  for (std::size_t i = 0; i < image.size(); ++i) {
    const auto value = static_cast<std::int64_t>(image[i]);
    if (value >= range.least && value <= range.most) marks[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  return marks;
}

/// Every instruction set, with and without marks, against the reference, which is returned.
template <typename T>
List<T> all_backends(const Image<T>& image, std::int32_t threshold, std::size_t capacity,
                     PixelFormat format = kPhotons) {
  const auto marks = marks_of(image, format, threshold);
  List<T> truth =
      run<T>([&](const Entries& out) { return compact_reference(image.data(), format, image.size(), threshold, out); },
             capacity);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    EXPECT_EQ(run<T>([&](const Entries& out) { return compact(image.data(), format, image.size(), threshold, out); },
                     capacity),
              truth)
        << hwy::TargetName(target);
    EXPECT_EQ(
        run<T>(
            [&](const Entries& out) { return compact_marked(image.data(), format, marks.data(), image.size(), out); },
            capacity),
        truth)
        << hwy::TargetName(target) << ", by marks";
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return truth;
}

struct Case {
  const char* what;
  Photons photons;
  std::int16_t threshold;
  std::size_t capacity;
  Result expected;
};
const Case kCases[] = {
    {"nothing", {}, 1, 4, {{}, {}, false}},
    {"at the threshold is kept", {0, 1, 2, 0}, 1, 4, {{1, 2}, {1, 2}, false}},
    {"masked is left out, saturated is kept",
     {kMaskedPhotons, kSaturatedPhotons, -1},
     INT16_MIN,
     4,
     {{1, 2}, {kSaturatedPhotons, -1}, false}},
    {"just enough room", {1, 1, 1}, 1, 3, {{0, 1, 2}, {1, 1, 1}, false}},
    {"one too many", {1, 1, 1, 1}, 1, 3, {{}, {}, true}},
    {"a full image into too little room", Photons(1000, 3), 1, 500, {{}, {}, true}},
    {"one too many in the last group", Photons(127, 3), 1, 126, {{}, {}, true}},
    {"one too many in a whole group", Photons(128, 3), 1, 127, {{}, {}, true}},
};

TEST(Csr, cases_hold_on_every_backend) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(all_backends(c.photons, c.threshold, c.capacity), c.expected);
  }
}

TEST(Csr, random_images_of_every_density_are_compacted_as_the_reference_does) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    Photons photons(random() % 3000);
    const auto filled = random() % 1001;
    for (auto& p : photons) {
      p = static_cast<std::int16_t>(random() % 1000 < filled ? random() : 0);
      if (random() % 50 == 0) p = kMaskedPhotons;
    }
    const auto threshold = static_cast<std::int16_t>(1 + random() % 100);
    const std::size_t capacity = round % 3 == 0 ? 1 + random() % 1000 : std::max<std::size_t>(photons.size(), 1);
    const Result truth = all_backends(photons, threshold, capacity);
    EXPECT_TRUE(!truth.overflow || capacity < photons.size());
  }
}

/// Leaves a masked pixel of a detector that delivers photons out, in any type.
TEST(Csr, images_of_every_integer_type_are_compacted_as_the_reference_does) {
  std::mt19937 random(8);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      const PixelFormat format = delivered(type);
      const T masked = std::is_signed_v<T> ? static_cast<T>(-1) : std::numeric_limits<T>::max();
      const T largest = static_cast<T>(photon_range(format).most);
      EXPECT_EQ(all_backends<T>({0, 2, masked, largest, 1}, 2, 4, format), (List<T>{{1, 3}, {2, largest}, false}));
      for (int round = 0; round < 20; ++round) {
        Image<T> image(random() % 3000);
        const auto filled = random() % 1001;
        for (auto& pixel : image) pixel = static_cast<T>(random() % 1000 < filled ? random() : 0);
        const auto threshold = static_cast<std::int32_t>(1 + random() % 100);
        all_backends(image, threshold, std::max<std::size_t>(image.size(), 1), format);
        all_backends(image, threshold, 1 + random() % 1000, format);
      }
    });
  }
}

TEST(Csr, all_numbers_of_a_plain_array_count) {
  std::mt19937 random(11);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
      EXPECT_EQ(all_backends<T>({0, 2, kLeast, kMost, 1}, 2, 4, plain(type)), (List<T>{{1, 3}, {2, kMost}, false}));
      EXPECT_EQ(all_backends<T>({0, kLeast, kMost}, static_cast<std::int32_t>(kLeast), 4, plain(type)),
                (List<T>{{0, 1, 2}, {0, kLeast, kMost}, false}));
      Image<T> image(3011);
      for (auto& pixel : image) pixel = static_cast<T>(random());
      for (const std::int32_t threshold : {1, 127, 255}) all_backends(image, threshold, image.size(), plain(type));
    });
  }
}

/// How entries are written depends on how many the words before had.
TEST(Csr, images_whose_density_changes_are_compacted_as_the_reference_does) {
  std::mt19937 random(10);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      Image<T> image(60'000 + 37);
      for (std::size_t i = 0, filled = 0; i < image.size(); ++i) {
        if (i % 1500 == 0) filled = std::array{0U, 2U, 20U, 60U, 100U, 500U, 1000U}[random() % 7];
        image[i] = static_cast<T>(random() % 1000 < filled ? random() : 0);
      }
      const List<T> truth = all_backends(image, 1, image.size(), delivered(type));
      EXPECT_GT(truth.index.size(), image.size() / 20);
      EXPECT_EQ(all_backends(image, 1, truth.index.size(), delivered(type)), truth);
      EXPECT_TRUE(all_backends(image, 1, truth.index.size() - 1, delivered(type)).overflow);
      EXPECT_TRUE(all_backends(image, 1, truth.index.size() / 2, delivered(type)).overflow);
    });
  }
}

TEST(Csr, special_values_of_a_detector_are_left_out) {
  std::mt19937 random(9);
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(pixel_name(type));
      const PixelFormat format = delivered(type, 99);
      const T other = std::is_signed_v<T> ? static_cast<T>(-2) : std::numeric_limits<T>::max();
      EXPECT_EQ(all_backends<T>({0, 2, other, 99, 100, 101, 1}, 2, 4, format), (List<T>{{1, 3}, {2, 99}, false}));
      Image<T> image(3001);
      for (auto& pixel : image) pixel = static_cast<T>(random() % 4 == 0 ? random() : random() % 128);
      all_backends(image, 1, image.size(), format);
    });
  }
}

TEST(Csr, capacity_is_a_fraction_of_the_pixels) {
  EXPECT_EQ(capacity_of({1, 0.1}, 1000), 100U);
  EXPECT_EQ(capacity_of({1, 0.0001}, 100), 1U);
  EXPECT_EQ(capacity_of({1, 1.0}, 100), 100U);
  EXPECT_NO_THROW(check({1, 1.0}));
  EXPECT_THROW(check({1, 0.0}), ConfigError);
  EXPECT_THROW(check({1, 1.1}), ConfigError);
  EXPECT_THROW(check({1, std::numeric_limits<double>::quiet_NaN()}), ConfigError);
}

}  // namespace
}  // namespace rashpa::kernel::csr
