// SPDX-License-Identifier: Apache-2.0
/// The background by radius, and the kernels that are made from it.
#include "rashpa/kernel/sigma_clip/sigma_clip.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/peakfinder/peakfinder.hpp"
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/sparsify/sparsify.hpp"

namespace rashpa::kernel::sigma_clip {
namespace {

constexpr Shape kShape{131, 97};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr const char* kOwner = "kernel test";

template <typename Settings>
Settings settings() {
  Settings made;
  made.beam_x = 64.3;
  made.beam_y = 40.8;
  made.bins = 40;
  return made;
}

template <typename T>
std::vector<T> image_of(std::uint32_t seed, const Shape& shape, T masked) {
  std::mt19937 random(seed);
  std::vector<T> image(shape.pixels());
  for (std::size_t p = 0; p < image.size(); ++p) {
    const double r =
        std::hypot(static_cast<double>(p % shape.width) - 63.8, static_cast<double>(p / shape.width) - 40.3);
    image[p] = static_cast<T>(std::poisson_distribution<int>(2 + 20 * std::exp(-r / 40))(random));
    if (random() % 150 == 0) image[p] = static_cast<T>(30 + random() % 90);
    if (random() % 200 == 0) image[p] = masked;
  }
  return image;
}

TEST(SigmaClip, a_bin_without_its_outliers_has_mean_and_deviation) {
  const Shape shape{64, 64};
  std::vector<float> image(shape.pixels());
  for (std::size_t p = 0; p < image.size(); ++p) image[p] = p % 2 == 0 ? 4.0F : 6.0F;
  image[100] = image[2000] = 1000;
  image[7] = kNaN;
  auto config = settings<Config>();
  config.bins = 2;
  const Radii radii(config, shape, kOwner);
  std::vector<Bin> bins(2);
  for (const auto& [model, deviation] : {std::pair{ErrorModel::poisson, std::sqrt(5.0)},
                                         {ErrorModel::azimuthal, 1.0},
                                         {ErrorModel::hybrid, std::sqrt(5.0)}}) {
    config.error_model = model;
    background_reference(config, radii, image.data(), delivered(PixelType::f32), bins);
    for (const Bin& bin : bins) {
      EXPECT_NEAR(bin.mean, 5, 0.02);
      EXPECT_NEAR(bin.deviation, deviation, 0.02);
    }
  }
  std::fill(image.begin(), image.end(), 0.0F);
  config.error_model = ErrorModel::poisson;
  background_reference(config, radii, image.data(), delivered(PixelType::f32), bins);
  EXPECT_EQ(bins[0], (Bin{0, 1})) << "a pixel without counts has the variance of one with 1";
  std::fill(image.begin(), image.end(), kNaN);
  background_reference(config, radii, image.data(), delivered(PixelType::f32), bins);
  EXPECT_FALSE(bins[0].known());
  config.cycles = 0;
  background_reference(config, radii, image.data(), delivered(PixelType::f32), bins);
}

TEST(SigmaClip, levels_lie_between_the_middles_of_bins) {
  const std::vector<Bin> bins{{1, 3}, {2, 4}, {4, 4}};
  EXPECT_EQ(level_at(bins, 0, 0).mean, 1);
  EXPECT_EQ(level_at(bins, 1.5, 0).mean, 3);
  EXPECT_EQ(level_at(bins, 2, 3).deviation, 5);
  const Radii radii(settings<Config>(), kShape, kOwner);
  EXPECT_NEAR(radii.middle(1) - radii.middle(0), radii.middle(39) - radii.middle(38), 1e-9);
  for (std::size_t p = 0; p < kShape.pixels(); ++p) {
    EXPECT_NEAR(radii.place(p), radii.rings().ring_of()[p], 0.5001) << p;
  }
}

TEST(SigmaClip, a_bin_without_background_takes_nothing_from_others_and_gives_them_nothing) {
  const std::vector<Bin> bins{{1, 3}, Bin::none(), {4, 4}, {6, 2}};
  EXPECT_EQ(level_at(bins, 0.4F, 0).mean, 1);
  EXPECT_EQ(level_at(bins, 0.4F, 4).deviation, 5);
  EXPECT_TRUE(std::isnan(level_at(bins, 0.5F, 0).mean));
  EXPECT_TRUE(std::isnan(level_at(bins, 1.4F, 0).mean));
  EXPECT_EQ(level_at(bins, 1.5F, 0).mean, 4);
  EXPECT_EQ(level_at(bins, 2.5F, 0).mean, 5);
}

/// Pixels that `sparsify` lists of an image, and its table of the rings.
struct Listed {
  std::vector<std::size_t> pixels;
  std::vector<Bin> bins;
};
Listed listed_of(const sparsify::Config& config, const Shape& shape, const std::vector<float>& image) {
  const Radii radii(config, shape, kOwner);
  Background background(config, radii);
  background.look(image.data(), delivered(PixelType::f32));
  Listed found;
  found.bins.assign(background.bins().begin(), background.bins().end());
  const auto marks = background.candidates(image.data(), delivered(PixelType::f32), config.cutoff);
  for (std::size_t p = 0; p < image.size(); ++p) {
    const bool marked = (marks[p / 64] >> (p % 64) & 1U) != 0;
    const bool sticks_out =
        radii.rings().ring_of()[p] != Rings::kNone &&
        image[p] - level_at(found.bins, radii.place(p), config.noise).mean >
            std::max(config.noise,
                     config.cutoff * double{level_at(found.bins, radii.place(p), config.noise).deviation});
    EXPECT_TRUE(marked || !sticks_out) << p;
    if (sticks_out) found.pixels.push_back(p);
  }
  return found;
}

TEST(SigmaClip, one_value_far_above_all_others_empties_no_ring) {
  const Shape shape{260, 300};
  std::vector<float> image(shape.pixels(), 4.0F);
  image[100 * 260 + 100] = 1e6F;
  auto config = settings<sparsify::Config>();
  config.beam_x = 130;
  config.beam_y = 150;
  config.bins = 50;
  config.noise = 0.1;
  config.cutoff = 5;
  for (const ErrorModel model : {ErrorModel::poisson, ErrorModel::azimuthal, ErrorModel::hybrid}) {
    config.error_model = model;
    const Listed found = listed_of(config, shape, image);
    EXPECT_THAT(found.pixels, testing::ElementsAre(100U * 260 + 100));
    for (const Bin& bin : found.bins) EXPECT_EQ(bin.mean, 4);
  }
}

TEST(SigmaClip, a_ring_of_which_no_pixel_is_left_lists_nothing) {
  const Shape shape{3, 1};  // one ring: 4, 4 and 10^6 scatter so that Chauvenet's criterion leaves none of them
  auto config = settings<sparsify::Config>();
  config.beam_x = config.beam_y = 1000;
  config.bins = 2;
  config.error_model = ErrorModel::azimuthal;
  for (const std::vector<float>& image : {std::vector<float>{4, 4, 1e6F}, {kNaN, kNaN, kNaN}}) {
    const Listed found = listed_of(config, shape, image);
    EXPECT_THAT(found.pixels, testing::IsEmpty());
  }
}

TEST(SigmaClip, rings_without_background_keep_no_pixel_of_others_out_of_the_list) {
  const Shape shape{64, 64};
  auto config = settings<sparsify::Config>();
  config.beam_x = config.beam_y = 32;
  config.bins = 40;
  config.cutoff = 5;
  std::vector<float> image(shape.pixels(), 4.0F);
  const Radii radii(config, shape, kOwner);
  for (std::size_t p = 0; p < image.size(); ++p) {
    const std::uint16_t ring = radii.rings().ring_of()[p];
    if (ring < 10 || ring > 35) image[p] = kNaN;  // several rings beside each other, the first one among them
  }
  image[32 * 64 + 50] = 1e4F;
  const Listed found = listed_of(config, shape, image);
  EXPECT_FALSE(found.bins[0].known());
  EXPECT_THAT(found.pixels, testing::ElementsAre(32U * 64 + 50));
}

/// Distances of the same beam as a geometry has them, and two panels beside each other.
std::shared_ptr<PixelGeometry> geometry_like(const Config& config) {
  auto made = std::make_shared<PixelGeometry>();
  made->shape = kShape;
  for (std::size_t p = 0; p < kShape.pixels(); ++p) {
    const double x = static_cast<double>(p % kShape.width) + 0.5 - config.beam_x;
    const double y = static_cast<double>(p / kShape.width) + 0.5 - config.beam_y;
    made->radius.push_back(static_cast<float>(std::sqrt(x * x + y * y)));
  }
  return made;
}

TEST(SigmaClip, distances_are_those_of_a_geometry) {
  auto config = settings<Config>();
  const Radii plain(config, kShape, kOwner);
  const auto geometry = geometry_like(config);
  config.geometry_read = geometry;
  config.beam_x = -1000;
  const Radii given(config, kShape, kOwner);
  EXPECT_TRUE(std::ranges::equal(given.rings().ring_of(), plain.rings().ring_of()));
  for (std::size_t p = 0; p < kShape.pixels(); ++p) EXPECT_NEAR(given.place(p), plain.place(p), 1e-4);
  geometry->radius[77] = kNaN;
  EXPECT_EQ(Radii(config, kShape, kOwner).rings().ring_of()[77], Rings::kNone);
  geometry->shape.width += 1;
  try {
    const Radii other(config, kShape, kOwner);
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "kernel test: geometry: is of images of 132 × 97 pixels; the images have 131 × 97");
  }
}

TEST(SigmaClip, pixels_of_other_panels_are_passed_over_around_a_peak) {
  std::vector<std::uint16_t> image(kShape.pixels(), 4);
  for (std::size_t x = 64; x < 68; ++x) image[30 * kShape.width + x] = static_cast<std::uint16_t>(400 + x);
  auto config = settings<peakfinder::Config>();
  config.connected = 1;
  config.noise = 20;
  const auto find = [&] {
    const Radii radii(config, kShape, kOwner);
    auto peaks = peakfinder::find_reference(config, kShape, radii, image.data(), delivered(PixelType::u16));
    peakfinder::Finder finder(config, kShape, radii);
    std::vector<Peak> fast(8);
    fast.resize(finder.find(image.data(), delivered(PixelType::u16), fast));
    EXPECT_EQ(fast, peaks);
    return peaks;
  };
  const auto geometry = geometry_like(config);
  config.geometry_read = geometry;
  EXPECT_EQ(find().size(), 1U);
  geometry->panels = {{0, 66, 0, 97}, {66, 131, 0, 97}};
  const auto parts = find();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].pixels, 2U);
  EXPECT_NEAR(parts[0].x, 64.5, 0.1);
  EXPECT_NEAR(parts[1].x, 66.5, 0.1);
}

/// The fast way on every instruction set against the references.
void all_backends(std::uint32_t seed, const Shape& shape, const void* image, PixelFormat format) {
  auto find = settings<peakfinder::Config>();
  find.error_model = static_cast<ErrorModel>(seed % 3);
  find.clip = seed % 2 == 0 ? 0 : 5;
  find.patch = seed % 2 == 0 ? 3 : 5;
  find.connected = 1 + seed % 2;
  find.max_radius = seed == 3 ? 80 : 0;
  auto list = settings<sparsify::Config>();
  static_cast<Config&>(list) = find;
  const Radii radii(find, shape, kOwner);
  const auto peaks = find_reference(find, shape, radii, image, format);
  std::vector<Bin> bins(list.bins);
  const auto index = sparsify_reference(list, radii, image, format, bins);
  on_every_target([&] {
    peakfinder::Finder finder(find, shape, radii);
    std::vector<Peak> found(peaks.size() + 1);
    EXPECT_EQ(finder.find(image, format, found), peaks.size());
    found.pop_back();
    EXPECT_TRUE(found == peaks);
    sparsify::Sparsifier sparsifier(list, radii);
    std::vector<std::uint32_t> listed(index.size() + 1, 77);
    EXPECT_EQ(sparsifier.sparsify(image, format, listed), index.size());
    EXPECT_EQ(listed.back(), 77U);
    listed.pop_back();
    EXPECT_EQ(listed, index);
    EXPECT_TRUE(std::equal(bins.begin(), bins.end(), sparsifier.bins().begin()));
  });
}

TEST(SigmaClip, images_of_every_type_have_the_peaks_and_lists_of_the_reference) {
  for (const Shape& shape : {kShape, Shape{64, 64}, Shape{3, 200}, Shape{200, 3}}) {
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(testing::Message() << shape.width << " × " << shape.height << ", seed " << seed);
      for (const PixelType type : photon_types()) {
        with_type(type, [&]<typename T>(T) {
          const T masked = std::is_signed_v<T> ? static_cast<T>(-1) : std::numeric_limits<T>::max();
          const auto image = image_of<T>(seed, shape, masked);
          all_backends(seed, shape, image.data(), delivered(type));
          all_backends(seed, shape, image.data(), plain(type));
        });
      }
      const auto image = image_of<float>(seed, shape, kNaN);
      all_backends(seed, shape, image.data(), delivered(PixelType::f32));
    }
  }
}

TEST(PeakFinder, a_peak_is_measured_over_its_background) {
  std::vector<std::int32_t> image(kShape.pixels(), 4);
  const auto at = [&](std::size_t x, std::size_t y) -> std::int32_t& { return image[y * kShape.width + x]; };
  at(30, 20) = 104;
  at(31, 20) = 54;
  at(30, 21) = 44;
  at(29, 20) = -1;  // masked, and passed over
  auto config = settings<peakfinder::Config>();
  config.patch = 3;
  config.noise = 1.5;
  const Radii radii(config, kShape, kOwner);
  const auto peaks = find_reference(config, kShape, radii, image.data(), delivered(PixelType::i32));
  ASSERT_EQ(peaks.size(), 1U);
  const Peak& peak = peaks[0];
  EXPECT_EQ(peak.pixels, 3U);
  EXPECT_NEAR(peak.x, 30 + 50.0 / 190, 1e-6);
  EXPECT_NEAR(peak.y, 20 + 40.0 / 190, 1e-6);
  EXPECT_NEAR(peak.intensity, 190, 1e-6);
  EXPECT_NEAR(peak.snr, 190 / std::sqrt(3 * (4 + 2.25)), 1e-4);
  EXPECT_EQ(peak.largest, 104);
  EXPECT_NEAR(peak.background, 4, 1e-6);
  at(31, 20) = 104;
  EXPECT_EQ(find_reference(config, kShape, radii, image.data(), delivered(PixelType::i32)).size(), 2U) << "as large";
  config.connected = 4;
  EXPECT_TRUE(find_reference(config, kShape, radii, image.data(), delivered(PixelType::i32)).empty());
}

/// Runs the pass as a unit does.
TEST(Sparsify, the_pass_keeps_list_and_background_of_each_image) {
  auto config = settings<sparsify::Config>();
  const Radii radii(config, kShape, kOwner);
  const auto image = image_of<std::uint16_t>(2, kShape, UINT16_MAX);
  std::vector<Bin> bins(config.bins);
  const auto index = sparsify_reference(config, radii, image.data(), delivered(PixelType::u16), bins);
  ASSERT_FALSE(index.empty());
  for (const bool enough : {true, false}) {
    config.capacity = (static_cast<double>(index.size()) - (enough ? 0 : 1)) / static_cast<double>(kShape.pixels());
    const auto step = step_of(config);
    EXPECT_EQ(step->list_capacity(kShape), index.size() - (enough ? 0 : 1));
    EXPECT_EQ(step->table_capacity(), config.bins);
    const auto pass =
        step->on_cpu({.shape = kShape, .in = delivered(PixelType::u16), .stack = 2, .places = 4, .workers = 2});
    pass->begin(1);
    const auto* const in = reinterpret_cast<const std::byte*>(image.data());
    const std::uint32_t place = 3;
    pass->run(1, {.first = 0, .count = 1, .in = &in, .place = &place}, 0, kShape.pixels());
    Scalar scalar;
    Finding finding{.scalars = &scalar};
    pass->finish(0, finding);
    EXPECT_EQ(scalar.count(), index.size());
    EXPECT_EQ(finding.failed, !enough);
    if (!enough) {
      EXPECT_THAT(pass->failure(), testing::HasSubstr("set a larger capacity"));
      continue;
    }
    ASSERT_EQ(finding.list.count, index.size());
    ASSERT_EQ(finding.table.rows, config.bins);
    for (std::size_t i = 0; i < index.size(); ++i) {
      EXPECT_EQ(finding.list.index[i], index[i]);
      EXPECT_EQ(static_cast<const std::uint16_t*>(finding.list.value)[i], image[index[i]]);
    }
    for (std::uint32_t bin = 0; bin < config.bins; ++bin) {
      EXPECT_EQ(finding.table.values[std::size_t{3} * bin].real(), radii.middle(bin));
      EXPECT_EQ(finding.table.values[3 * bin + 1].real(), bins[bin].mean);
      EXPECT_EQ(finding.table.values[3 * bin + 2].real(), bins[bin].deviation);
    }
  }
}

TEST(SigmaClip, what_finds_nothing_is_refused) {
  const auto refusal = [](const auto& wrong) -> std::string {
    try {
      static_cast<void>(step_of(wrong)->fit(kShape, delivered(PixelType::u16)));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  auto list = settings<sparsify::Config>();
  EXPECT_EQ(refusal(list), "accepted");
  list.min_radius = 500;
  EXPECT_THAT(refusal(list), testing::HasSubstr("kernel sparsify: min_radius, max_radius: no pixel of the image"));
  auto find = settings<peakfinder::Config>();
  find.min_radius = 5;
  find.max_radius = 4;
  EXPECT_THAT(refusal(find), testing::HasSubstr("kernel peakfinder: max_radius: 4 is below min_radius 5"));
  find = settings<peakfinder::Config>();
  find.connected = 26;
  EXPECT_THAT(refusal(find),
              testing::HasSubstr("connected: 26 pixels do not fit the square of patch 5; give 25 or fewer"));
}

}  // namespace
}  // namespace rashpa::kernel::sigma_clip
