// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"

namespace rashpa::kernel::jungfrau {
namespace {

Config tracked(std::uint32_t width, std::uint32_t height, Tracking::From from, Output output = Output::photons) {
  Config config = synthetic::config(width, height, output, 9, 0.01);
  config.calibration.rms.assign(std::size_t{width} * height, 24.0F);
  config.tracking = {from, 50, 3.0, 0.0};
  return config;
}

/// A dark word: the pedestal, moved by `drift`, with noise; here and there something else.
std::vector<std::uint16_t> dark(const Config& config, double drift, std::uint64_t seed) {
  synthetic::Random random(seed);
  std::vector<std::uint16_t> words(config.calibration.mask.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = synthetic::word_of(0, config, i, drift + 24 * random.normal());
    if (random.below(100) == 0) words[i] = static_cast<std::uint16_t>(random.next());
  }
  return words;
}

/// The plain reference's result for pixel `pixel`.
Running reference(const Config& config, const std::vector<std::vector<std::uint16_t>>& images,
                  const std::vector<std::uint8_t>& darks, std::size_t stack, std::size_t pixel) {
  const float inverse = 1.0F / static_cast<float>(config.tracking.images);
  Running now{config.calibration.pedestal[pixel], 24.0F * 24.0F};
  for (std::size_t begin = 0; begin < images.size(); begin += stack) {
    bool empty = config.tracking.from == Tracking::From::empty;
    for (std::size_t i = begin; i < std::min(begin + stack, images.size()); ++i) {
      const bool limited = darks[i] == 0;
      if (limited && !empty) continue;
      if (limited) empty = false;
      const std::uint16_t word = images[i][pixel];
      if (word > 0x3FFF) continue;
      const Running next = follow(now, word, inverse);
      const float far = static_cast<float>(word) - now.pedestal;
      if (!limited) {
        now = next;
      } else if (far * far <= 9.0F * now.variance) {
        now.pedestal = next.pedestal;
      }
    }
  }
  return now;
}

TEST(Tracking, every_instruction_set_follows_as_the_reference_does) {
  for (const auto from : {Tracking::From::darks, Tracking::From::empty}) {
    for (const std::uint32_t width : {64U, 65U, 131U}) {
      const Config config = tracked(width, 67, from, width == 65 ? Output::kev : Output::photons);
      const std::size_t pixels = config.calibration.mask.size();
      std::vector<std::vector<std::uint16_t>> images;
      std::vector<std::uint8_t> darks;
      for (std::size_t i = 0; i < 12; ++i) {
        images.push_back(dark(config, 5, i));
        darks.push_back(i % 3 == 0 ? 1 : 0);
      }
      on_every_target([&] {
        Prepared prepared(config);
        Tracker tracker(config, prepared, 2);
        for (std::size_t begin = 0; begin < 12; begin += 4) {
          const std::uint16_t* raw[4] = {images[begin].data(), images[begin + 1].data(), images[begin + 2].data(),
                                         images[begin + 3].data()};
          tracker.begin();
          for (std::size_t first = 0; first < pixels; first += 4096) {
            tracker.follow(first / 4096 % 2, {4, raw, darks.data() + begin}, first, std::min(first + 4096, pixels));
          }
        }
        tracker.begin();
        EXPECT_EQ(tracker.followed(), from == Tracking::From::darks ? 4U : 7U);
        for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
          if (config.calibration.mask[pixel] != 0) continue;
          const Running wanted = reference(config, images, darks, 4, pixel);
          const Running found = tracker.at(pixel);
          ASSERT_EQ(found.pedestal, wanted.pedestal) << "pixel " << pixel;
          ASSERT_EQ(found.variance, wanted.variance) << "pixel " << pixel;
        }
      });
    }
  }
}

TEST(Tracking, running_mean_is_that_of_the_published_sum) {
  // sum ← sum + x − sum/N, P = sum/N, and the same for squares, in double
  synthetic::Random random(3);
  Running now{2400, 400};
  double sum = 50 * 2400.0;
  double squares = 50 * (2400.0 * 2400.0 + 400.0);
  for (int i = 0; i < 500; ++i) {
    const double x = std::floor(2400 + 0.1 * i + 20 * random.normal());
    sum += x - sum / 50;
    squares += x * x - squares / 50;
    now = follow(now, static_cast<float>(x), 1.0F / 50);
  }
  EXPECT_NEAR(now.pedestal, sum / 50, 0.01);
  EXPECT_NEAR(now.variance, squares / 50 - sum / 50 * (sum / 50), 0.05);
}

TEST(Tracking, pedestals_reach_a_drift_that_stays_and_it_is_reported) {
  const Config config = tracked(128, 64, Tracking::From::darks);
  Prepared prepared(config);
  Tracker tracker(config, prepared, 1);
  const std::uint8_t flags[1] = {1};
  for (std::size_t i = 0; i < 400; ++i) {
    const auto image = dark(config, 48, i);  // 2 σ
    const std::uint16_t* raw = image.data();
    tracker.begin();
    tracker.follow(0, {1, &raw, flags}, 0, image.size());
  }
  tracker.begin();
  EXPECT_NEAR(tracker.drift().median, 2.0, 0.1);
  EXPECT_GT(tracker.drift().worst, 2.0);
}

TEST(Tracking, photons_do_not_move_pedestals_that_follow_empty_pixels) {
  const Config config = tracked(128, 64, Tracking::From::empty);
  Prepared prepared(config);
  Tracker tracker(config, prepared, 1);
  const std::uint8_t flags[1] = {0};
  for (std::size_t i = 0; i < 200; ++i) {
    auto image = synthetic::frame(config, 0, i);  // 2 % of the pixels have a photon of 508 ADU
    const std::uint16_t* raw = image.data();
    tracker.begin();
    tracker.follow(0, {1, &raw, flags}, 0, image.size());
  }
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t pixel = 0; pixel < config.calibration.mask.size(); ++pixel) {
    if (config.calibration.mask[pixel] != 0) continue;
    sum += tracker.at(pixel).pedestal - config.calibration.pedestal[pixel];
    ++count;
  }
  EXPECT_NEAR(sum / static_cast<double>(count), 0.0, 0.3);
}

TEST(Tracking, an_rms_that_is_next_to_nothing_is_that_of_a_pixel_whose_drift_is_not_measured) {
  Config config = tracked(64, 8, Tracking::From::darks);
  config.tracking.images = 50;
  config.calibration.rms[70] = 1e-39F;  // its inverse is infinite
  Prepared prepared(config);
  Tracker tracker(config, prepared, 1);
  std::vector<std::uint16_t> words(512);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = synthetic::word_of(0, config, i, 0);
  words[70] = 0xFFFF;  // a readout error: not followed, and not moved
  const std::uint16_t* raw[1] = {words.data()};
  const std::uint8_t dark[1] = {1};
  for (int n = 0; n < 200; ++n) {
    tracker.begin();
    tracker.follow(0, {1, raw, dark}, 0, 512);
  }
  EXPECT_TRUE(std::isfinite(tracker.drift().worst)) << double{tracker.drift().worst};
}

TEST(Tracking, without_an_rms_it_is_refused) {
  Config config = tracked(64, 2, Tracking::From::darks);
  Prepared prepared(config);
  config.calibration.rms[70] = NAN;
  config.calibration.mask.assign(128, 0);
  Prepared valid(config);
  try {
    const Tracker tracker(config, valid, 1);
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("pixel (6, 1) is nan"), std::string::npos) << error.what();
  }
  config.calibration.rms.clear();
  EXPECT_THROW(Tracker(config, prepared, 1), ConfigError);
}

}  // namespace
}  // namespace rashpa::kernel::jungfrau
