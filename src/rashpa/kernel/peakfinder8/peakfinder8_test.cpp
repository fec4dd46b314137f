// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::peakfinder8 {
namespace {

constexpr Shape kShape{131, 97};
constexpr Shape kLarge{401, 370};  // of more than one band
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Config config() { return {.threshold = 20, .min_snr = 5, .beam_x = 64.3, .beam_y = 40.8}; }

/// 32 random bits.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(random_()); }
  int poisson(double mean) { return std::poisson_distribution<int>(mean)(random_); }

 private:
  std::mt19937 random_;
};

/// Background that falls with the radius, masked pixels, spots; values of any type.
template <typename T>
std::vector<T> image_of(std::uint32_t seed, const Shape& shape, T masked) {
  Dice random(seed);
  std::vector<T> image(shape.pixels());
  for (std::uint32_t y = 0; y < shape.height; ++y) {
    for (std::uint32_t x = 0; x < shape.width; ++x) {
      const double r = std::hypot(x + 0.5 - 64.3, y + 0.5 - 40.8);
      image[std::size_t{y} * shape.width + x] = static_cast<T>(random.poisson(1 + 6 * std::exp(-r / 40)));
    }
  }
  for (int spot = 0; spot < 40; ++spot) {
    const std::uint32_t x = random() % shape.width;
    const std::uint32_t y = random() % shape.height;
    const int size = 1 + static_cast<int>(random() % 3);
    for (int dy = 0; dy < size; ++dy) {
      for (int dx = 0; dx < size; ++dx) {
        if (x + dx >= shape.width || y + dy >= shape.height) continue;
        image[(y + dy) * shape.width + x + dx] = static_cast<T>(10 + random() % 90);
      }
    }
  }
  for (auto& pixel : image) {
    if (random() % 200 == 0) pixel = masked;
  }
  return image;
}

/// The fast way on every instruction set against the reference, which is returned.
std::vector<Peak> all_backends(const Config& config, const Shape& shape, const void* image, PixelFormat format) {
  const Rings rings = rings_of(config, shape);
  auto truth = find_reference(config, shape, rings, image, format);
  on_every_target([&] {
    Finder finder(config, shape, rings);
    std::vector<Peak> found(truth.size() + 5);
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(finder.find(image, format, found), truth.size());
      for (std::size_t i = 0; i < truth.size(); ++i) EXPECT_EQ(found[i], truth[i]) << i;
      EXPECT_EQ(found[truth.size()], Peak{}) << "nothing behind the last one";
    }
  });
  return truth;
}

TEST(Rings, images_of_every_type_are_sorted_summed_and_marked_as_one_pixel_at_a_time) {
  Dice random(3);
  const Rings rings = rings_of({.max_radius = 300, .beam_x = 64.3, .beam_y = 40.8}, kLarge);
  for (const PixelType type : image_types()) {
    for (const std::int64_t largest : {kNoLargestCount, std::int64_t{100}}) {
      SCOPED_TRACE(testing::Message() << pixel_name(type) << " up to " << largest);
      const PixelFormat format = delivered(type, largest);
      std::vector<std::byte> image(kLarge.pixels() * pixel_bytes(type));
      for (std::size_t p = 0; p < kLarge.pixels(); ++p) {
        if (type == PixelType::f32) {
          const float value = p % 11 == 0 ? kNaN : static_cast<float>(random() % 1000) / 8 - 20;
          std::memcpy(image.data() + p * 4, &value, 4);
        } else {
          const std::uint32_t value = p % 3 == 0 ? random() : random() % 200;
          std::memcpy(image.data() + p * pixel_bytes(type), &value, pixel_bytes(type));
        }
      }
      std::vector<float> above(rings.count());
      for (float& one : above) one = static_cast<float>(random() % 100);
      on_every_target([&] {
        std::vector<float> band(Rings::kBand + 1, -7);
        std::vector<float> sorted(rings.first()[rings.count()] + 1, -7);
        sort_by_ring(image.data(), format, rings, band.data(), sorted.data());
        EXPECT_EQ(band.back(), -7);
        EXPECT_EQ(sorted.back(), -7) << "nothing behind the last one";
        std::vector<std::uint32_t> next(rings.first().begin(), rings.first().end());
        std::vector<std::uint64_t> marks(kLarge.pixels() / 64 + 2, 77);
        mark_above(image.data(), format, rings, above.data(), marks.data());
        EXPECT_EQ(marks.back(), 77U);
        std::vector<RingSums> sums(rings.count());
        for (std::size_t p = 0; p < kLarge.pixels(); ++p) {
          const float value = pixel_value(image.data(), format, p);
          const std::uint16_t ring = rings.ring_of()[p];
          if (ring != Rings::kNone) {
            const float put = sorted[next[ring]++];
            ASSERT_TRUE(value == put || (std::isnan(value) && std::isnan(put))) << p;
          }
          const bool mark = (marks[p / 64] >> (p % 64) & 1U) != 0;
          ASSERT_EQ(mark, ring != Rings::kNone && value > above[ring]) << p;
          if (ring == Rings::kNone || !(value > 3 && value < 150)) continue;
          sums[ring].sum += double{value};
          sums[ring].squares += double{value} * double{value};
          sums[ring].count += 1;
        }
        for (std::uint32_t ring = 0; ring < rings.count(); ++ring) {
          const auto first = rings.first()[ring];
          EXPECT_EQ(ring_sums(sorted.data() + first, rings.first()[ring + 1] - first, 3, 150), sums[ring]) << ring;
        }
      });
    }
  }
}

/// Sums one pixel at a time.
RingSums plain_sums(const Rings& rings, const void* image, PixelFormat format, std::uint32_t ring, float low,
                    float high) {
  RingSums sums;
  for (std::size_t p = 0; p < rings.ring_of().size(); ++p) {
    const float value = pixel_value(image, format, p);
    if (rings.ring_of()[p] != ring || !(value > low && value < high)) continue;
    sums.sum += double{value};
    sums.squares += double{value} * double{value};
    sums.count += 1;
  }
  return sums;
}

/// Values of a type: masked ones, negative ones where there are any, a few that are large, or many.
template <typename T>
std::vector<T> values_of(std::uint32_t seed, const Shape& shape, bool many_large) {
  Dice random(seed);
  std::vector<T> image(shape.pixels());
  for (T& pixel : image) {
    const std::uint32_t dice = random() % 100;
    pixel = static_cast<T>(random.poisson(1.5));
    if (dice < 3 && std::is_signed_v<T>) pixel = static_cast<T>(-static_cast<int>(random() % 60));
    if (dice > 96) pixel = static_cast<T>(random() % 600);
    if (dice == 50 || (many_large && dice < 40)) pixel = static_cast<T>(random() % 4000);
    if (dice == 51) pixel = std::is_signed_v<T> ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
  return image;
}

TEST(RingValues, sums_are_those_of_one_pixel_at_a_time_counted_or_sorted) {
  for (const Shape& shape : {kShape, Shape{300, 70}, Shape{7, 41}}) {
    const Rings rings = rings_of({.max_radius = 80, .beam_x = 64.3, .beam_y = 40.8}, shape);
    for (const PixelType type : photon_types()) {
      with_type(type, [&]<typename T>(T) {
        for (const bool many_large : {false, true}) {
          const PixelFormat made{type, std::is_signed_v<T> ? Masked::minimum : Masked::maximum};
          // squares of the largest numbers of 32 bits are beyond what doubles hold exactly
          const PixelFormat all = sizeof(T) == 4 ? made : plain(type);
          for (const PixelFormat format : {delivered(type), made, delivered(type, 100), all}) {
            const auto image = values_of<T>(5, shape, many_large);
            const std::vector<std::pair<float, float>> windows{{-1e9F, 1e9F}, {-3.5F, 2}, {1.17e-38F, 3e38F},
                                                               {250, 500},    {-kNaN, 1}, {7, 7}};
            std::vector<RingSums> truth;
            for (std::uint32_t ring = 0; ring < rings.count(); ring += 17) {
              for (const auto& [low, high] : windows) {
                truth.push_back(plain_sums(rings, image.data(), format, ring, low, high));
              }
            }
            on_every_target([&] {
              RingValues values(rings, shape.width);
              values.take(image.data(), format);
              const bool few = !many_large || sizeof(T) == 1 || format.largest_count == 100 || shape == Shape{7, 41};
              EXPECT_TRUE(!few || values.counted()) << pixel_name(type) << ' ' << many_large;
              std::size_t at = 0;
              for (std::uint32_t ring = 0; ring < rings.count(); ring += 17) {
                for (const auto& [low, high] : windows) {
                  ASSERT_EQ(values.sums(ring, low, high), truth[at++])
                      << pixel_name(type) << ", ring " << ring << ", " << low << " to " << high;
                }
              }
            });
          }
        }
      });
    }
  }
}

TEST(RingValues, images_that_cannot_be_counted_are_sorted) {
  const Shape shape{400, 200};
  const Rings rings = rings_of({.beam_x = 64.3, .beam_y = 40.8}, shape);
  RingValues values(rings, shape.width);
  const std::vector<std::uint16_t> bright(shape.pixels(), 1000);
  const std::vector<std::uint16_t> dim(shape.pixels(), 3);
  const auto sum = [&](const std::vector<std::uint16_t>& image) {
    values.take(image.data(), delivered(PixelType::u16));
    return values.sums(10, -1e9F, 1e9F).sum / values.sums(10, -1e9F, 1e9F).count;
  };
  EXPECT_EQ(sum(bright), 1000);
  EXPECT_FALSE(values.counted());
  int sorted = 0;
  EXPECT_EQ(sum(dim), 3);
  for (; sorted < 100 && !values.counted(); ++sorted) EXPECT_EQ(sum(dim), 3);
  EXPECT_GT(sorted, 0) << "the next ones are often like it";
  EXPECT_LT(sorted, 100) << "and are tried again";
  const std::vector<float> kev(shape.pixels(), 2.5F);
  values.take(kev.data(), delivered(PixelType::f32));
  EXPECT_FALSE(values.counted());
  EXPECT_EQ(values.sums(3, 2, 3).sum, 2.5 * (rings.first()[4] - rings.first()[3]));
  const Rings one(std::vector<std::uint16_t>(shape.pixels()), 1);
  RingValues wide(one, shape.width);
  wide.take(dim.data(), delivered(PixelType::u16));
  EXPECT_FALSE(wide.counted()) << "80000 pixels are more than a counter holds";
  EXPECT_EQ(wide.sums(0, 0, 10).sum, 3.0 * 80'000);
}

TEST(PeakFinder8, a_peak_is_measured_over_its_background) {
  std::vector<std::uint16_t> image(kShape.pixels());
  for (std::size_t p = 0; p < image.size(); ++p) image[p] = p % 2 == 0 ? 4 : 6;  // mean 5, deviation 1
  const auto at = [&](std::size_t x, std::size_t y) -> std::uint16_t& { return image[y * kShape.width + x]; };
  at(30, 20) = 105;
  at(31, 20) = 55;
  at(30, 21) = 45;
  const auto peaks = all_backends(config(), kShape, image.data(), delivered(PixelType::u16));
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_NEAR(peaks[0].x, 30 + 55.0 / 205, 1e-12);
  EXPECT_NEAR(peaks[0].y, 20 + 45.0 / 205, 1e-12);
  EXPECT_EQ(peaks[0].pixels, 3U);
  EXPECT_EQ(peaks[0].largest, 105);
  EXPECT_NEAR(peaks[0].background, 5, 0.1);
  EXPECT_NEAR(peaks[0].intensity, 205 - 3 * peaks[0].background, 1e-9);
  EXPECT_NEAR(peaks[0].snr, peaks[0].intensity, 1);

  at(31, 20) = at(30, 21) = 5;
  EXPECT_TRUE(all_backends(config(), kShape, image.data(), delivered(PixelType::u16)).empty()) << "a single pixel";
  Config single = config();
  single.min_pixels = 1;
  EXPECT_EQ(all_backends(single, kShape, image.data(), delivered(PixelType::u16)).size(), 1U);
  EXPECT_TRUE(all_backends(single, kShape, image.data(), delivered(PixelType::u16, 100)).empty()) << "special value";
  single.min_radius = 60;
  EXPECT_TRUE(all_backends(single, kShape, image.data(), delivered(PixelType::u16)).empty()) << "too near";
}

TEST(PeakFinder8, peaks_end_at_panels) {
  std::vector<std::uint16_t> image(kShape.pixels());
  for (std::size_t p = 0; p < image.size(); ++p) image[p] = p % 2 == 0 ? 4 : 6;
  for (std::size_t x = 60; x < 70; ++x) image[std::size_t{4} * kShape.width + x] = 100;
  EXPECT_EQ(all_backends(config(), kShape, image.data(), delivered(PixelType::u16)).size(), 1U);
  Config panels = config();
  panels.panel_width = 65;
  panels.panel_height = 40;
  const auto peaks = all_backends(panels, kShape, image.data(), delivered(PixelType::u16));
  ASSERT_EQ(peaks.size(), 2U);
  EXPECT_NEAR(peaks[0].x, 62, 1e-9);
  EXPECT_NEAR(peaks[1].x, 67, 1e-9);
}

TEST(PeakFinder8, peaks_end_at_the_panels_of_a_geometry_and_rings_are_its_distances) {
  std::vector<std::uint16_t> image(kShape.pixels());
  for (std::size_t p = 0; p < image.size(); ++p) image[p] = p % 2 == 0 ? 4 : 6;
  for (std::size_t x = 60; x < 70; ++x) image[std::size_t{4} * kShape.width + x] = 100;
  PixelGeometry geometry{.shape = kShape, .radius = std::vector<float>(kShape.pixels()), .panels = {}};
  for (std::uint32_t y = 0; y < kShape.height; ++y) {
    for (std::uint32_t x = 0; x < kShape.width; ++x) {
      geometry.radius[std::size_t{y} * kShape.width + x] =
          static_cast<float>(std::hypot(x + 0.5 - 64.3, y + 0.5 - 40.8));
    }
  }
  const auto found = [&](const PixelGeometry& one) {
    Config with = config();
    with.beam_x = with.beam_y = 1e4;  // is not looked at
    with.geometry_read = std::make_shared<PixelGeometry>(one);
    return all_backends(with, kShape, image.data(), delivered(PixelType::u16));
  };
  const auto whole = all_backends(config(), kShape, image.data(), delivered(PixelType::u16));
  EXPECT_EQ(found(geometry), whole);
  geometry.panels = {{66, 131, 0, 50}, {0, 66, 0, 50}};
  const auto parts = found(geometry);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_NEAR(parts[0].x, 67.5, 1e-9);
  EXPECT_NEAR(parts[1].x, 62.5, 1e-9);
  geometry.panels = {{0, 66, 0, 50}};
  EXPECT_EQ(found(geometry).size(), 1U) << "nothing is looked for in no panel";
  for (std::size_t x = 50; x < 80; ++x) geometry.radius[std::size_t{4} * kShape.width + x] = kNaN;
  EXPECT_TRUE(found(geometry).empty());

  geometry.shape.width -= 1;
  Config other = config();
  other.geometry_read = std::make_shared<PixelGeometry>(geometry);
  EXPECT_THROW(static_cast<void>(step_of(other)->fit(kShape, delivered(PixelType::u16))), ConfigError);
}

TEST(PeakFinder8, images_of_every_type_have_the_peaks_of_the_reference) {
  std::size_t all = 0;
  for (const Shape& shape : {kShape, Shape{64, 64}, Shape{3, 200}, Shape{1, 1}, Shape{200, 2}}) {
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
      Config some = config();
      some.min_pixels = 1 + seed % 2;
      some.panel_width = seed == 3 ? 3 : 0;
      SCOPED_TRACE(testing::Message() << shape.width << " × " << shape.height << ", seed " << seed);
      for (const PixelType type : photon_types()) {
        with_type(type, [&]<typename T>(T) {
          const T masked = std::is_signed_v<T> ? static_cast<T>(-1) : std::numeric_limits<T>::max();
          const auto image = image_of<T>(seed, shape, masked);
          all += all_backends(some, shape, image.data(), delivered(type)).size();
        });
      }
      const auto image = image_of<float>(seed, shape, kNaN);
      all_backends(some, shape, image.data(), delivered(PixelType::f32));
    }
  }
  EXPECT_GT(all, 500U);
}

TEST(PeakFinder8, infinite_pixels_belong_to_their_peak_and_are_not_weighed) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  Config some = config();
  some.min_pixels = 2;
  std::vector<float> image(kShape.pixels());
  for (std::size_t p = 0; p < image.size(); ++p) image[p] = static_cast<float>((p * 2654435761U >> 7) % 5);
  const auto at = [&](std::size_t x, std::size_t y) -> float& { return image[y * kShape.width + x]; };
  at(50, 30) = 1000;
  at(52, 30) = 1000;
  at(51, 30) = kInfinite;               // saturated, between two that weigh the same
  at(70, 60) = at(71, 60) = kInfinite;  // nothing of it can be weighed
  at(20, 70) = -kInfinite;
  const auto peaks = all_backends(some, kShape, image.data(), delivered(PixelType::f32));
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_NEAR(peaks[0].x, 51, 1e-9);
  EXPECT_NEAR(peaks[0].y, 30, 1e-9);
  EXPECT_EQ(peaks[0].pixels, 3U);
  EXPECT_TRUE(std::isfinite(peaks[0].intensity));
  EXPECT_EQ(peaks[0].largest, kInfinite);
}

TEST(PeakFinder8, images_without_anything_find_nothing) {
  const std::vector<std::uint16_t> dark(kShape.pixels());
  EXPECT_TRUE(all_backends(config(), kShape, dark.data(), delivered(PixelType::u16)).empty());
  const std::vector<std::uint16_t> masked(kShape.pixels(), UINT16_MAX);
  EXPECT_TRUE(all_backends(config(), kShape, masked.data(), delivered(PixelType::u16)).empty());
  const std::vector<std::uint16_t> bright(kShape.pixels(), 60000);
  EXPECT_TRUE(all_backends(config(), kShape, bright.data(), delivered(PixelType::u16)).empty());
}

/// Runs the pass as a unit does.
TEST(PeakFinder8, the_pass_keeps_the_rows_of_each_image) {
  Config small = config();
  const Rings rings = rings_of(small, kShape);
  std::vector<std::vector<std::uint16_t>> images;
  std::vector<std::vector<Peak>> truth;
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    images.push_back(image_of<std::uint16_t>(seed, kShape, UINT16_MAX));
    truth.push_back(find_reference(small, kShape, rings, images.back().data(), delivered(PixelType::u16)));
    ASSERT_FALSE(truth.back().empty());
  }
  small.max_peaks = static_cast<std::uint32_t>(truth[0].size());
  const auto step = step_of(small);
  EXPECT_EQ(step->table_capacity(), small.max_peaks);
  const auto pass =
      step->on_cpu({.shape = kShape, .in = delivered(PixelType::u16), .stack = 3, .places = 6, .workers = 2});
  EXPECT_EQ(pass->grain(), CpuPass::Grain::image);
  pass->begin(3);
  for (std::uint32_t item = 0; item < 3; ++item) {
    const auto* const in = reinterpret_cast<const std::byte*>(images[item].data());
    const std::uint32_t place = 5 - item;
    pass->run(item % 2, {.first = item, .count = 1, .in = &in, .place = &place}, 0, kShape.pixels());
  }
  for (std::size_t item = 0; item < 3; ++item) {
    Scalar scalars[3];
    Finding finding{.scalars = scalars};
    pass->finish(item, finding);
    EXPECT_EQ(scalars[0].count(), truth[item].size());
    EXPECT_EQ(scalars[2].count(), 0U);
    EXPECT_EQ(finding.failed, truth[item].size() > small.max_peaks);
    if (finding.failed) {
      EXPECT_THAT(pass->failure(), testing::HasSubstr("set a larger max_peaks"));
      continue;
    }
    ASSERT_EQ(finding.table.rows, truth[item].size());
    double intensity = 0;
    for (std::uint32_t row = 0; row < finding.table.rows; ++row) {
      const Scalar* const values = finding.table.values + std::size_t{row} * 7;
      const Peak& peak = truth[item][row];
      EXPECT_EQ(values[0].real(), peak.x);
      EXPECT_EQ(values[1].real(), peak.y);
      EXPECT_EQ(values[2].real(), peak.intensity);
      EXPECT_EQ(values[3].real(), peak.snr);
      EXPECT_EQ(values[4].count(), peak.pixels);
      EXPECT_EQ(values[5].real(), peak.largest);
      EXPECT_EQ(values[6].real(), peak.background);
      intensity += peak.intensity;
    }
    EXPECT_EQ(scalars[1].real(), intensity);
  }
}

TEST(PeakFinder8, rings_of_which_no_pixel_is_left_are_counted) {
  const Rings rings = rings_of(config(), kShape);
  auto image = image_of<std::uint16_t>(3, kShape, UINT16_MAX);
  std::uint32_t masked = 0;
  for (const std::uint32_t ring : {0U, 7U, 8U, rings.count() - 1}) {
    masked += rings.first()[ring + 1] > rings.first()[ring] ? 1 : 0;
    for (std::size_t p = 0; p < image.size(); ++p) {
      if (rings.ring_of()[p] == ring) image[p] = UINT16_MAX;
    }
  }
  ASSERT_GE(masked, 3U);
  Finder finder(config(), kShape, rings);
  std::vector<Peak> peaks(100);
  finder.find(image.data(), delivered(PixelType::u16), peaks);
  EXPECT_EQ(finder.empty(), masked);
}

TEST(PeakFinder8, what_finds_nothing_is_refused) {
  const auto refusal = [](const Config& wrong) -> std::string {
    try {
      static_cast<void>(step_of(wrong)->fit(kShape, delivered(PixelType::u16)));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(config()), "accepted");
  EXPECT_THAT(refusal({.min_pixels = 5, .max_pixels = 4}), testing::HasSubstr("min_pixels: 5 is above max_pixels 4"));
  EXPECT_THAT(refusal({.min_radius = 5, .max_radius = 4}), testing::HasSubstr("max_radius: 4 is below min_radius 5"));
  EXPECT_THAT(refusal({.min_radius = 500}), testing::HasSubstr("no pixel of the image is that far"));
  EXPECT_THAT(refusal({.beam_x = 90'000}), testing::HasSubstr("pixels from the beam"));
  EXPECT_THAT(refusal({.panel_width = 132}),
              testing::HasSubstr("panel_width, panel_height: a panel of 132 × 0 pixels"));
}

}  // namespace
}  // namespace rashpa::kernel::peakfinder8
