// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/azimuthal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/azimuthal/stack_sums.hpp"
#include "rashpa/kernel/photons/photons.hpp"

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
    ASSERT_EQ(found.masked[bin].shares, truth.masked[bin].shares) << "bin " << bin;
    ASSERT_DOUBLE_EQ(found.masked[bin].norm, truth.masked[bin].norm) << "bin " << bin;
  }
  EXPECT_EQ(found.any_masked, truth.any_masked);
}

/// Pixels [first, last).
struct Part {
  std::size_t first = 0, last = 0;
};

template <typename T>
std::vector<T> photons(std::size_t pixels, std::uint32_t most, PixelFormat format, unsigned masked_every) {
  std::mt19937 random(17);
  std::vector<T> image(pixels + 64, static_cast<T>(3));  // guard: read by nobody
  const PhotonRange range = photon_range(format);
  for (std::size_t i = 0; i < pixels; ++i) {
    image[i] = static_cast<T>(random() % most);
    if (masked_every != 0 && random() % masked_every == 0) {
      image[i] = format.masked == Masked::none      ? std::numeric_limits<T>::min()
                 : format.masked == Masked::maximum ? static_cast<T>(range.most + 1)
                                                    : static_cast<T>(range.least - 1);
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
      with_type(type, [&]<typename T>(T) {
        Scratch scratch(prepared, delivered(type));
        std::vector<PixelFormat> formats{delivered(type), delivered(type, 100), plain(type)};
        if (type == PixelType::i16) formats.push_back({type, Masked::minimum});
        for (const PixelFormat format : formats) {
          for (const unsigned masked_every : {0U, 1000U, 3U}) {
            for (const std::uint32_t most : {2U, 90U, 65000U}) {
              if (most > 32000 && sizeof(T) < 4 && type != PixelType::u16) continue;
              if (static_cast<std::int64_t>(most) > photon_range(format).most) continue;
              const std::vector<T> image = photons<T>(pixels, most, format, masked_every);
              for (const Part part : {Part{0, pixels}, Part{4096, 70001}, Part{64, 65}}) {
                Sums truth(prepared, format);
                add_reference(prepared, image.data(), format, part.first, part.last, truth);
                SCOPED_TRACE(testing::Message() << pixel_name(type) << " " << most);
                on_every_target([&] {
                  Sums found(prepared, format);
                  add(prepared, image.data(), format, part.first, part.last, scratch, found);
                  expect_equal(found, truth, prepared.bins());
                });
              }
            }
          }
        }
      });
    }
  }
}

/// A stack of images: how many hold photons, and in which pixels are masked.
template <typename T>
std::vector<std::vector<T>> stack_of(std::size_t images, std::size_t pixels, PixelFormat format) {
  std::vector<std::vector<T>> stack;
  const std::uint32_t bright = sizeof(T) == 1 ? 90 : std::is_signed_v<T> && sizeof(T) == 2 ? 32000 : 65000;
  for (std::size_t i = 0; i < images; ++i) {
    std::vector<T> image = photons<T>(pixels, i % 3 == 1 ? 2 : i % 5 == 2 ? bright : 40, format, i % 4 == 2 ? 50 : 0);
    if (i % 3 == 0) {  // hardly any photon
      for (std::size_t p = 0; p < pixels; ++p) image[p] = (p + 7 * i) % 131 == 0 ? static_cast<T>(1 + p % 9) : T{};
    }
    if constexpr (sizeof(T) == 4) {  // beyond 16 bits
      for (std::size_t p = i; p < pixels; p += 997) image[p] = static_cast<T>(70'000 + 100'000 * i);
    }
    if (format.masked == Masked::minimum || (format.masked == Masked::none && std::is_signed_v<T>)) {
      for (std::size_t p = i; p < pixels; p += 89) image[p] = static_cast<T>(-static_cast<int>(p % 500));
    }
    stack.push_back(std::move(image));
  }
  return stack;
}

TEST(Azimuthal, stacks_give_the_integers_of_the_reference) {
  const std::size_t bins = 100;
  for (const Errors errors : {Errors::none, Errors::poisson}) {
    const Config config = rings(131, 61, bins, errors);
    const Prepared prepared(config);
    const std::size_t pixels = config.bins.size();
    for (const PixelFormat format :
         {delivered(PixelType::u8), delivered(PixelType::u16), delivered(PixelType::u16, 50), delivered(PixelType::u32),
          delivered(PixelType::i16), PixelFormat{PixelType::i16, Masked::minimum}, delivered(PixelType::i32),
          PixelFormat{PixelType::i32, Masked::minimum}, plain(PixelType::u8), plain(PixelType::u16),
          plain(PixelType::u32), plain(PixelType::i16), plain(PixelType::i32)}) {
      with_type(format.type, [&]<typename T>(T) {
        const auto stack = stack_of<T>(33, pixels, format);
        std::vector<const std::byte*> images;
        std::vector<Sums> truth;
        for (const auto& image : stack) {
          images.push_back(reinterpret_cast<const std::byte*>(image.data()));
          truth.emplace_back(prepared, format);
          add_reference(prepared, image.data(), format, 0, pixels, truth.back());
        }
        for (const std::size_t count : {1U, 3U, 4U, 8U, 15U, 16U, 17U, 33U}) {
          SCOPED_TRACE(testing::Message() << pixel_name(format.type) << " " << count);
          on_every_target([&] {
            Scratch scratch(prepared, format);
            StackSums together(prepared, format, 33);
            for (int twice = 0; twice < 2; ++twice) {
              std::vector<Sums> found(count, Sums(prepared, format));
              for (const Part part : {Part{4096, pixels}, Part{0, 130}, Part{130, 4096}}) {
                together.add(images.data(), count, part.first, part.last, scratch, found.data());
              }
              together.flush(found.data(), count);
              for (std::size_t i = 0; i < count; ++i) expect_equal(found[i], truth[i], bins);
            }
          });
        }
      });
    }
  }
}

TEST(Azimuthal, brightest_pixels_of_a_stack_do_not_overflow) {
  const Config config = rings(1024, 512, 1, Errors::poisson);
  const Prepared prepared(config);
  const auto try_value = [&]<typename T>(PixelFormat format, T value) {
    const std::vector<T> image(config.bins.size(), value);
    const std::vector<const std::byte*> images(5, reinterpret_cast<const std::byte*>(image.data()));
    Scratch scratch(prepared, format);
    StackSums together(prepared, format, 5);
    std::vector<Sums> sums(5, Sums(prepared, format));
    together.add(images.data(), 5, 0, image.size(), scratch, sums.data());
    together.flush(sums.data(), 5);
    for (const Sums& one : sums) {
      EXPECT_EQ(one.signal[0], std::int64_t{value} * prepared.all()[0].shares);
      EXPECT_EQ(one.variance[0], std::int64_t{std::max<T>(value, 1) - 1} * prepared.all()[0].shares);
    }
  };
  try_value(delivered(PixelType::u16), std::uint16_t{65534});
  try_value({PixelType::i16, Masked::minimum}, std::int16_t{32767});
  try_value({PixelType::i16, Masked::minimum}, std::int16_t{-32767});
  try_value(delivered(PixelType::i32), std::int32_t{32766});
  try_value(delivered(PixelType::u32), std::uint32_t{4'000'000'000});
  try_value(plain(PixelType::u16), std::uint16_t{65535});
  try_value(plain(PixelType::i16), std::int16_t{-32768});
  try_value(plain(PixelType::i32), std::int32_t{-32768});
}

/// The same pixels, spread over up to three bins.
Config split(Config config) {
  std::mt19937 random(5);
  const auto bins = static_cast<std::uint32_t>(config.radial_axis.size());
  for (const std::uint32_t bin : config.bins) {
    const std::uint32_t spread = bin == kNoBin ? 0 : 1 + static_cast<std::uint32_t>(random() % 3);
    for (std::uint32_t i = 0; i < spread && bin + i < bins; ++i) {
      config.share_bins.push_back(bin + i);
      config.shares.push_back(0.01F + static_cast<float>(random() % 100) / 300.0F);
    }
    config.share_ends.push_back(static_cast<std::uint32_t>(config.shares.size()));
  }
  config.bins.clear();
  return config;
}

void expect_near(const Sums& found, const Sums& truth) {
  constexpr double kRounding = 1e-12;  // of sums of some thousand numbers, in another order
  for (std::size_t bin = 0; bin < truth.masked.size(); ++bin) {
    ASSERT_NEAR(found.real[bin].signal, truth.real[bin].signal, kRounding * (1 + std::abs(truth.real[bin].signal)));
    ASSERT_EQ(found.masked[bin].shares, truth.masked[bin].shares) << "bin " << bin;
    ASSERT_NEAR(found.masked[bin].norm, truth.masked[bin].norm, kRounding);
    ASSERT_NEAR(found.masked[bin].dark_variance, truth.masked[bin].dark_variance, kRounding);
    if (truth.real[bin].variance == 0) continue;
    ASSERT_NEAR(found.real[bin].variance / truth.real[bin].variance, 1, kRounding);
  }
  EXPECT_EQ(found.any_masked, truth.any_masked);
}

template <typename T>
void try_real_sums(const Config& config, const std::vector<T>& image, PixelFormat format) {
  const Prepared prepared(config);
  Scratch scratch(prepared, format);
  const std::size_t pixels = prepared.pixels();
  for (const Part part : {Part{0, pixels}, Part{4096, 70001}, Part{64, 65}}) {
    Sums truth(prepared, format);
    add_reference(prepared, image.data(), format, part.first, part.last, truth);
    on_every_target([&] {
      for (int twice = 0; twice < 2; ++twice) {
        Sums found(prepared, format);
        add(prepared, image.data(), format, part.first, part.last, scratch, found);
        expect_near(found, truth);
      }
    });
  }
}

TEST(Azimuthal, every_instruction_set_gives_the_real_sums_of_the_reference) {
  for (const std::size_t bins : {std::size_t{200}, kFewBins + 4, std::size_t{66000}}) {
    const Config plain = rings(331, 257, bins, Errors::poisson);
    const Config config = split(plain);
    for (const PixelType type : photon_types()) {
      if (bins > 200 && type != PixelType::u16) continue;
      with_type(type, [&]<typename T>(T) {
        for (const unsigned masked_every : {0U, 1000U, 3U}) {
          try_real_sums(config, photons<T>(plain.bins.size(), 90, delivered(type), masked_every), delivered(type));
        }
      });
    }
    std::vector<float> image(plain.bins.size());
    std::mt19937 random(8);
    for (float& pixel : image) pixel = static_cast<float>(random() % 1000) / 7.0F - 5.0F;
    for (const Config& one : {plain, config}) {
      image[9] = 1.0F;
      try_real_sums(one, image, delivered(PixelType::f32));
      image[9] = image[5000] = NAN;
      image[70000] = INFINITY;
      try_real_sums(one, image, delivered(PixelType::f32));
    }
  }
}

TEST(Azimuthal, a_split_pixel_counts_in_each_of_its_bins_by_its_share) {
  Config config{.errors = Errors::poisson, .radial_axis = {0.5, 1.5, 2.5}};
  config.width = 3;
  config.share_ends = {2, 2, 4};
  config.share_bins = {0, 1, 1, 2};
  config.shares = {0.75F, 0.25F, 0.5F, 0.5F};
  config.norm = {0.5F, 0, 2};
  config.dark = {1, 0, 0};
  const std::vector<std::uint16_t> image{5, 77, 0};
  const PixelFormat format = delivered(PixelType::u16);
  std::vector<double> profile(12);
  for (const Errors errors : {Errors::poisson, Errors::azimuthal}) {
    config.errors = errors;
    const Prepared prepared(config);
    Sums sums(prepared, format);
    Scratch scratch(prepared, format);
    add(prepared, image.data(), format, 0, 3, scratch, sums);
    finish(prepared, sums, profile.data());
    const double norm = 0.25 * 0.5 + 0.5 * 2;
    EXPECT_DOUBLE_EQ(profile[0], 4 / 0.5);
    EXPECT_DOUBLE_EQ(profile[1], 0.25 * 4 / norm);
    EXPECT_DOUBLE_EQ(profile[2], 0);
    EXPECT_DOUBLE_EQ(profile[9 + 1], norm);
    if (errors == Errors::poisson) {
      EXPECT_DOUBLE_EQ(profile[3 + 1], std::sqrt(0.0625 * (5 + 1) + 0.25 * 1) / norm);
    } else {
      EXPECT_DOUBLE_EQ(profile[3 + 1], std::sqrt(1.0 * (8 - 0) * (0.25 * 4 / norm - 0)) / norm);
    }
  }
}

TEST(Azimuthal, profiles_are_summed_over_the_images_that_are_kept) {
  Config config = rings(64, 64, 20, Errors::poisson);
  config.dark.clear();
  config.max_intensity = 50;
  config.added = Added::accepted;
  config.window = 6;
  const auto step = step_of(config);
  const auto made = step->accumulation({64, 64}, delivered(PixelType::u16));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->shape, std::vector<std::uint32_t>{20});
  EXPECT_EQ(made->window, 6U);
  const auto pass = step->on_cpu({.shape = {64, 64}, .in = delivered(PixelType::u16), .stack = 3, .places = 3});
  std::vector<std::vector<std::uint16_t>> images;
  for (const std::uint16_t level : {std::uint16_t{10}, std::uint16_t{200}, std::uint16_t{4}})
    images.emplace_back(std::size_t{4096}, level);
  std::vector<const std::byte*> in;
  in.reserve(images.size());
  for (const auto& image : images) in.push_back(reinterpret_cast<const std::byte*>(image.data()));
  const std::vector<std::uint32_t> place{0, 1, 2};
  for (int window = 0; window < 2; ++window) {
    std::vector<double> norm;
    for (int stack = 0; stack < 2; ++stack) {
      pass->begin(3);
      pass->run(0, {.first = 0, .count = 3, .in = in.data(), .place = place.data()}, 0, 4096);
      for (std::size_t i = 0; i < 3; ++i) {
        Scalar mean;
        Finding finding{.scalars = &mean};
        pass->finish(i, finding);
        EXPECT_EQ(finding.verdict, i == 1 ? 2 : 0);
        norm.assign(finding.profile.values + 60, finding.profile.values + 80);
      }
    }
    std::vector<std::vector<double>> sums(4, std::vector<double>(20));
    std::vector<std::uint32_t> counted(20);
    AccumulatedArrays to{};
    for (std::size_t q = 0; q < 4; ++q) to[q] = reinterpret_cast<std::byte*>(sums[q].data());
    to[4] = reinterpret_cast<std::byte*>(counted.data());
    pass->conclude(0, to, 0, 12);
    pass->conclude(0, to, 12, 20);
    const Prepared prepared(config);
    for (std::size_t bin = 0; bin < 20; ++bin) {
      const double pixels = prepared.all()[bin].shares;
      if (pixels == 0) continue;
      ASSERT_EQ(counted[bin], 4U);
      ASSERT_DOUBLE_EQ(sums[2][bin], 2 * pixels * (10 + 4));
      ASSERT_DOUBLE_EQ(sums[3][bin], 4 * norm[bin]);
      ASSERT_DOUBLE_EQ(sums[0][bin], pixels * 7 / norm[bin]);
      ASSERT_DOUBLE_EQ(sums[1][bin], std::sqrt(2 * pixels * (10 + 4)) / (4 * norm[bin]));
    }
  }
  config.added = Added::none;
  EXPECT_FALSE(step_of(config)->accumulation({64, 64}, delivered(PixelType::u16)));
}

TEST(Azimuthal, brightest_pixels_do_not_overflow) {
  Config config = rings(1024, 512, 1, Errors::poisson);
  const Prepared prepared(config);
  const std::vector<std::uint16_t> image(config.bins.size(), 65534);
  Scratch scratch(prepared, delivered(PixelType::u16));
  Sums sums(prepared, delivered(PixelType::u16));
  add(prepared, image.data(), delivered(PixelType::u16), 0, image.size(), scratch, sums);
  EXPECT_EQ(sums.signal[0], std::int64_t{65534} * prepared.all()[0].shares);
  EXPECT_EQ(sums.variance[0], std::int64_t{65533} * prepared.all()[0].shares);
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
    Sums sums(prepared, delivered(PixelType::u16));
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
  Sums sums(prepared, delivered(PixelType::u16));
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
            "kernel azimuthal: bins: the pixel in row 1, column 3 is in bin 3 of 3; give the number of a bin");
  EXPECT_EQ(refusal([](Config& c) { c.norm[21] = NAN; }),
            "kernel azimuthal: norm: the pixel in row 2, column 1 is nan, which is not above 0; give a weight above 0");
  EXPECT_EQ(refusal([](Config& c) { c.dark[15] = INFINITY; }),
            "kernel azimuthal: dark: the pixel in row 1, column 5 is no number; give a finite one");
  EXPECT_EQ(refusal([](Config& c) {
              c = split(c);
              c.shares[0] = NAN;
            }),
            "kernel azimuthal: shares: the pixel in row 0, column 1 has a share that is no number; give finite ones");
  EXPECT_EQ(refusal([](Config& c) {
              c = split(c);
              c.share_ends[12] = 5000;
            }),
            "kernel azimuthal: share_ends: the pixel in row 1, column 2 has shares from 15 to 5000 of 63; give "
            "ends that rise");
  EXPECT_NE(refusal([](Config& c) {
              c = split(c);
              c.shares.pop_back();
            }),
            "");
  EXPECT_NE(refusal([](Config& c) { c.norm.pop_back(); }), "");
  EXPECT_NE(refusal([](Config& c) { c.radial_axis.clear(); }), "");
}

/// Runs the pass as a unit does.
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
    in.reserve(images.size());
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
        Sums truth(prepared, delivered(PixelType::u16));
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
