// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/azimuthal.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons.hpp"

namespace rashpa::kernel::azimuthal {
namespace {

/// Rings around the middle, some pixels in no bin, other weights and darks for every pixel.
Config rings(std::uint32_t width, std::uint32_t height, std::size_t bins, Errors errors) {
  Config config{.errors = errors};
  config.width = width;
  for (std::size_t bin = 0; bin < bins; ++bin) config.radial_axis.push_back(0.5 + static_cast<double>(bin));
  const double half = std::hypot(width, height) / 2;
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const double radius = std::hypot(x - width / 2.0, y - height / 2.0) / half;
      const auto bin = static_cast<std::uint32_t>(radius * static_cast<double>(bins));
      const bool gap = y % 100 >= 97 || bin >= bins;
      config.bins.push_back(gap ? kNoBin : bin);
      config.norm.push_back(gap ? 0.0F : static_cast<float>(1 - 0.5 * radius));
      config.dark.push_back(static_cast<float>(x % 3) * 0.25F);
    }
  }
  return config;
}

void expect_equal(const Sums& found, const Sums& truth, std::size_t bins) {
  for (std::size_t bin = 0; bin < bins; ++bin) {
    ASSERT_EQ(found.signal[bin], truth.signal[bin]) << "bin " << bin;
    if (!truth.variance.empty()) {
      ASSERT_EQ(found.variance[bin], truth.variance[bin]) << "bin " << bin;
    }
    ASSERT_EQ(found.masked[bin].pixels, truth.masked[bin].pixels) << "bin " << bin;
    ASSERT_DOUBLE_EQ(found.masked[bin].norm, truth.masked[bin].norm) << "bin " << bin;
  }
  EXPECT_EQ(found.any_masked, truth.any_masked);
}

template <typename T>
std::vector<T> photons(std::size_t pixels, std::uint32_t most, PixelFormat format, unsigned masked_every) {
  std::mt19937 random(17);
  std::vector<T> image(pixels + 64, static_cast<T>(3));  // guard: read by nobody
  const PhotonRange range = photon_range(format);
  for (std::size_t i = 0; i < pixels; ++i) {
    image[i] = static_cast<T>(random() % most);
    if (masked_every != 0 && random() % masked_every == 0) {
      image[i] = format.masked == Masked::maximum ? static_cast<T>(range.most + 1) : static_cast<T>(range.least - 1);
    }
  }
  return image;
}

TEST(Azimuthal, every_instruction_set_gives_the_integers_of_the_reference) {
  for (const PixelType type : photon_types()) {
    for (const Errors errors : {Errors::none, Errors::poisson}) {
      const Config config = rings(331, 257, 200, errors);
      const Prepared prepared(config);
      const std::size_t pixels = config.bins.size();
      Scratch scratch(prepared.bins());
      with_type(type, [&]<typename T>(T) {
        std::vector<PixelFormat> formats{delivered(type), delivered(type, 100)};
        if (type == PixelType::i16) formats.push_back({type, Masked::minimum});
        for (const PixelFormat format : formats) {
          for (const unsigned masked_every : {0U, 1000U, 3U}) {
            for (const std::uint32_t most : {2U, 90U, 65000U}) {
              if (most > 32000 && sizeof(T) < 4 && type != PixelType::u16) continue;
              if (static_cast<std::int64_t>(most) > photon_range(format).most) continue;
              const std::vector<T> image = photons<T>(pixels, most, format, masked_every);
              for (const auto& [first, last] :
                   {std::pair<std::size_t, std::size_t>{0, pixels}, {4096, 70001}, {64, 65}}) {
                Sums truth(prepared);
                add_reference(prepared, image.data(), format, first, last, truth);
                for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
                  SCOPED_TRACE(testing::Message() << hwy::TargetName(target) << " " << pixel_name(type) << " " << most);
                  hwy::SetSupportedTargetsForTest(target);
                  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
                  Sums found(prepared);
                  add(prepared, image.data(), format, first, last, scratch, found);
                  expect_equal(found, truth, prepared.bins());
                }
                hwy::SetSupportedTargetsForTest(0);
                hwy::GetChosenTarget().Update(hwy::SupportedTargets());
              }
            }
          }
        }
      });
    }
  }
}

TEST(Azimuthal, brightest_pixels_do_not_overflow) {
  Config config = rings(1024, 512, 1, Errors::poisson);
  const Prepared prepared(config);
  const std::vector<std::uint16_t> image(config.bins.size(), 65534);
  Scratch scratch(1);
  Sums sums(prepared);
  add(prepared, image.data(), delivered(PixelType::u16), 0, image.size(), scratch, sums);
  EXPECT_EQ(sums.signal[0], std::int64_t{65534} * prepared.all()[0].pixels);
  EXPECT_EQ(sums.variance[0], sums.signal[0]);
}

TEST(Azimuthal, means_and_errors_are_those_of_the_formulas) {
  Config config{.errors = Errors::poisson, .radial_axis = {0.5, 1.5, 2.5}};
  config.width = 6;
  config.bins = {0, 0, 1, kNoBin, 1, 2};
  config.norm = {0.5, 1, 1, 0, 2, 1};
  config.dark = {0, 1, 0, 0, 0.5, 0};
  const std::vector<std::uint16_t> image{4, 0, 7, 9, 65535, 65535};
  std::vector<double> profile(12);
  {
    const Prepared prepared(config);
    Sums sums(prepared);
    add_reference(prepared, image.data(), delivered(PixelType::u16), 0, 6, sums);
    finish(prepared, sums, profile.data());
  }
  EXPECT_DOUBLE_EQ(profile[0], (4 + 0 - 1) / 1.5);
  EXPECT_DOUBLE_EQ(profile[3], std::sqrt(4 + 1 + 1) / 1.5)
      << "an empty pixel has a variance of one; the dark adds its own";
  EXPECT_DOUBLE_EQ(profile[1], 7) << "a masked pixel is not there";
  EXPECT_TRUE(std::isnan(profile[2])) << "no pixel is left";
  EXPECT_EQ(profile[6 + 0], 3);
  EXPECT_EQ(profile[9 + 2], 0);
  config.errors = Errors::azimuthal;
  config.dark.clear();
  const Prepared prepared(config);
  Sums sums(prepared);
  add_reference(prepared, image.data(), delivered(PixelType::u16), 0, 6, sums);
  finish(prepared, sums, profile.data());
  const double first = 4 / 0.5, mean = 4 / 1.5;
  EXPECT_DOUBLE_EQ(profile[3], std::sqrt(1.0 * (first - 0) * (mean - 0)) / 1.5);
  EXPECT_EQ(profile[4], 0) << "one pixel does not differ";
}

TEST(Azimuthal, what_makes_no_sense_is_refused_by_pixel) {
  const auto refusal = [](auto change) -> std::string {
    Config config = rings(10, 4, 3, Errors::none);
    change(config);
    try {
      const Prepared prepared(config);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([](Config&) {}), "");
  EXPECT_EQ(refusal([](Config& c) { c.bins[13] = 3; }),
            "kernel azimuthal: bins: the pixel in row 1, column 3 is in bin 3 of 3");
  EXPECT_EQ(refusal([](Config& c) { c.norm[21] = NAN; }),
            "kernel azimuthal: norm: the pixel in row 2, column 1 is nan, which is not above 0");
  EXPECT_EQ(refusal([](Config& c) { c.dark[15] = INFINITY; }),
            "kernel azimuthal: dark: the pixel in row 1, column 5 is no number");
  EXPECT_NE(refusal([](Config& c) { c.norm.pop_back(); }), "");
  EXPECT_NE(refusal([](Config& c) { c.radial_axis.clear(); }), "");
}

/// As a unit does it.
TEST(Azimuthal, the_pass_joins_workers_and_judges_the_ring) {
  Config config = rings(300, 200, 50, Errors::poisson);
  config.ring_min = 10;
  config.ring_max = 20;
  config.min_intensity = 5;
  config.max_intensity = 20;
  const std::size_t pixels = config.bins.size();
  std::vector<std::vector<std::uint16_t>> images;
  for (const std::uint16_t level : {std::uint16_t{10}, std::uint16_t{1}, std::uint16_t{100}})
    images.emplace_back(pixels, level);
  for (const std::size_t azimuths : {0U, 100U}) {
    if (azimuths > 0) {  // many bins: an image by one thread
      config.azimuthal_axis.assign(azimuths, 1.0);
      for (std::size_t p = 0; p < pixels; ++p) {
        if (config.bins[p] != kNoBin) config.bins[p] += static_cast<std::uint32_t>(p % azimuths) * 50;
      }
    }
    const auto step = step_of(config);
    EXPECT_EQ(step->axes().size(), azimuths > 0 ? 2U : 1U);
    const auto pass =
        step->on_cpu({.shape = {300, 200}, .in = delivered(PixelType::u16), .stack = 3, .places = 6, .workers = 2});
    EXPECT_EQ(pass->grain() == CpuPass::Grain::image, azimuths > 0);
    std::vector<const std::byte*> in;
    for (const auto& image : images) in.push_back(reinterpret_cast<const std::byte*>(image.data()));
    const std::vector<std::uint32_t> place{3, 4, 5};
    for (int round = 0; round < 2; ++round) {
      pass->begin(3);
      if (azimuths > 0) {
        for (std::uint32_t i = 0; i < 3; ++i) {
          pass->run(i % 2, {.first = i, .count = 1, .in = &in[i], .place = &place[i]}, 0, pixels);
        }
      } else {
        const Items items{.first = 0, .count = 3, .in = in.data(), .place = place.data()};
        pass->run(0, items, 4096, pixels);
        pass->run(1, items, 0, 4096);
      }
      for (std::uint8_t i = 0; i < 3; ++i) {
        Scalar mean;
        Finding finding{.scalars = &mean};
        pass->finish(i, finding);
        EXPECT_EQ(finding.verdict, i);
        const Prepared prepared(config);
        Sums truth(prepared);
        add_reference(prepared, in[i], delivered(PixelType::u16), 0, pixels, truth);
        std::vector<double> profile(4 * prepared.bins());
        finish(prepared, truth, profile.data());
        for (std::size_t k = 0; k < profile.size(); ++k) {
          if (!std::isnan(profile[k])) {
            ASSERT_EQ(finding.profile.values[k], profile[k]) << k;
          }
        }
      }
    }
  }
  config.ring_min = 1000;
  config.ring_max = 1001;
  EXPECT_THROW(step_of(config), ConfigError);
}

}  // namespace
}  // namespace rashpa::kernel::azimuthal
