// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/jungfrau/jungfrau_simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"

namespace rashpa::dataset {
namespace {

double median(std::vector<float> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double robust_sigma(std::vector<float> values) {
  const auto middle = static_cast<float>(median(values));
  for (float& value : values) value = std::abs(value - middle);
  return 1.4826 * median(values);
}

double correlation(std::span<const float> a, std::span<const float> b) {
  const double n = static_cast<double>(a.size());
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
  }
  return (sab - sa * sb / n) / std::sqrt((saa - sa * sa / n) * (sbb - sb * sb / n));
}

std::vector<float> of_gain(const std::vector<float>& map, std::size_t gain) {
  const auto begin = map.begin() + static_cast<std::ptrdiff_t>(gain * kJungfrauPixels);
  return {begin, begin + kJungfrauPixels};
}

std::uint16_t word_at(const Dataset& data, std::uint32_t module, std::uint64_t frame, std::size_t at) {
  std::uint16_t word = 0;
  std::memcpy(&word, data.frame(module, frame) + 2 * at, 2);
  return word;
}

JungfrauParameters small() {
  JungfrauParameters p;
  p.frames = 8;
  p.dark_every = 4;
  p.hit_fraction = 0.5;
  p.seed = 19;  // some spots of this one overflow G2
  p.truth = Truth::keep;
  return p;
}

const JungfrauDataset& sample() {
  static const JungfrauDataset data(small());
  return data;
}

// Chips differ from each other, so a module's spread varies by some percent around the nominal one.
TEST(JungfrauCalibration, follows_the_measured_module) {
  const JungfrauFacts facts;
  for (std::uint32_t m = 0; m < 3; ++m) {
    const JungfrauModule module = make_jungfrau_module(11, m);
    for (std::size_t k = 0; k < 3; ++k) {
      const std::vector<float> pedestal = of_gain(module.pedestal, k);
      EXPECT_NEAR(median(pedestal), facts.pedestal_adu[k], 0.25 * facts.pedestal_sigma_adu[k]) << k;
      EXPECT_NEAR(robust_sigma(pedestal), facts.pedestal_sigma_adu[k], 0.15 * facts.pedestal_sigma_adu[k]) << k;
      const std::vector<float> gain = of_gain(module.gain, k);
      const double expected = facts.gain_adu_per_kev[k];
      EXPECT_NEAR(median(gain), expected, 0.001 * std::abs(expected)) << k;
      EXPECT_NEAR(robust_sigma(gain) / std::abs(expected), facts.gain_sigma[k], 0.001) << k;
    }
    EXPECT_NEAR(correlation(of_gain(module.pedestal, 1), of_gain(module.pedestal, 2)), 0.98, 0.01);
    EXPECT_NEAR(correlation(of_gain(module.pedestal, 0), of_gain(module.pedestal, 1)), 0.25, 0.15);
    EXPECT_NEAR(median(module.noise), 23.9, 0.1);
    EXPECT_EQ(std::count(module.kind.begin(), module.kind.end(), PixelKind::always_g1), 45);
    EXPECT_EQ(std::count(module.kind.begin(), module.kind.end(), PixelKind::always_g2), 2);
    EXPECT_EQ(std::count(module.mask.begin(), module.mask.end(), 2U), facts.dead);
  }
}

TEST(JungfrauSimulator, frames_do_not_depend_on_the_number_of_threads) {
  JungfrauParameters p = small();
  p.threads = 1;
  const JungfrauDataset one(p);
  p.threads = 3;
  const JungfrauDataset three(p);
  for (std::uint32_t m = 0; m < p.modules; ++m) {
    for (std::uint64_t n = 0; n < p.frames; ++n) {
      ASSERT_EQ(std::memcmp(one.frame(m, n), three.frame(m, n), one.shape().frame_bytes()), 0) << m << ' ' << n;
    }
  }
  p.seed = 20;
  EXPECT_NE(std::memcmp(one.frame(0, 0), JungfrauDataset(p).frame(0, 0), one.shape().frame_bytes()), 0);
}

TEST(JungfrauSimulator, darks_hits_and_blanks_are_as_many_as_asked_for) {
  JungfrauParameters p;
  p.modules = 1;
  p.frames = 25;
  p.dark_every = 5;
  p.hit_fraction = 0.25;
  p.spots = 1;
  const JungfrauDataset data(p);
  const auto kinds = data.kinds();
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), FrameKind::dark), 5);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), FrameKind::hit), 5);
  for (std::uint64_t n = 0; n < p.frames; ++n) {
    EXPECT_EQ(kinds[n] == FrameKind::dark, n % 5 == 4) << n;
    EXPECT_EQ(data.flags(n), kinds[n] == FrameKind::dark ? FrameRecord::dark : 0U) << n;
  }
  EXPECT_TRUE(data.photons(0, 0).empty());
}

TEST(JungfrauSimulator, darks_have_no_photons_and_lie_on_the_pedestal) {
  const JungfrauDataset& data = sample();
  const JungfrauModule& module = data.calibration(1);
  ASSERT_EQ(data.kinds()[3], FrameKind::dark);
  std::vector<float> differences;
  for (std::size_t at = 0; at < kJungfrauPixels; ++at) {
    ASSERT_EQ(data.photons(1, 3)[at], 0);
    if (module.kind[at] != PixelKind::normal) continue;
    ASSERT_EQ(word_at(data, 1, 3, at) >> 14, 0);
    differences.push_back(static_cast<float>(word_at(data, 1, 3, at)) - module.pedestal[at]);
  }
  // 23.9 ADU a pixel and 14 ADU a chip: the median moves with the chips' mean, the spread of one chip is the pixels'
  // alone.
  EXPECT_NEAR(median(differences), 0, 14);
  const std::vector<float> line(differences.begin(), differences.begin() + 250);
  EXPECT_NEAR(robust_sigma(line), 23.9, 6);
}

/// Photons as the table of src/rashpa/kernel/jungfrau/README.md decodes the word, not rounded.
double decoded(const JungfrauDataset& data, std::uint32_t m, std::uint64_t n, std::size_t at) {
  const std::uint16_t word = word_at(data, m, n, at);
  const std::size_t gain = word >> 14 == 3 ? 2 : word >> 14;
  const std::size_t i = gain * kJungfrauPixels + at;
  const JungfrauModule& module = data.calibration(m);
  return ((word & 0x3FFF) - static_cast<double>(module.pedestal[i])) /
         (static_cast<double>(module.gain[i]) * data.parameters().energy_kev);
}

TEST(JungfrauSimulator, decoding_gives_the_true_photons_back_within_the_noise) {
  const JungfrauDataset& data = sample();
  // Six standard deviations of the noise of each gain in photons: (23.9·1.36 ⊕ 14)/508, 10/18, 10/1.43; half an ADU of
  // rounding.
  constexpr std::array<double, 4> tolerance{0.55, 3.8, 0, 47};
  std::array<std::uint64_t, 4> codes{};
  std::uint64_t overflows = 0;
  for (std::uint64_t n = 0; n < data.frames(); ++n) {
    for (std::uint32_t m = 0; m < 2; ++m) {
      for (std::size_t at = 0; at < kJungfrauPixels; ++at) {
        const std::uint16_t word = word_at(data, m, n, at);
        if (data.calibration(m).kind[at] == PixelKind::dead) continue;
        ++codes[word >> 14];
        if (word == 0xC000) {
          ++overflows;
          ASSERT_GT(data.photons(m, n)[at], 8000);
          continue;
        }
        ASSERT_NEAR(decoded(data, m, n, at), data.photons(m, n)[at], tolerance[word >> 14])
            << m << ' ' << n << ' ' << at;
      }
    }
  }
  EXPECT_EQ(codes[2], 0U);
  EXPECT_GT(codes[0], codes[1]);
  EXPECT_GT(codes[1], codes[3]);
  EXPECT_GT(codes[3], 4U * data.frames());  // more than the pixels that are always in G2
  EXPECT_GT(overflows, 0U);
}

TEST(JungfrauSimulator, pixels_change_gain_where_the_measured_ones_do) {
  const JungfrauDataset& data = sample();
  for (std::uint64_t n = 0; n < data.frames(); ++n) {
    for (std::size_t at = 0; at < kJungfrauPixels; ++at) {
      if (data.calibration(0).kind[at] != PixelKind::normal) continue;
      const unsigned code = word_at(data, 0, n, at) >> 14;
      const std::uint16_t photons = data.photons(0, n)[at];
      if (photons < 12) {
        ASSERT_EQ(code, 0U);
      }
      if (photons > 23) {
        ASSERT_NE(code, 0U);
      }
      if (photons > 23 && photons < 580) {
        ASSERT_EQ(code, 1U);
      }
      if (photons > 660) {
        ASSERT_EQ(code, 3U);
      }
    }
  }
}

TEST(JungfrauSimulator, hits_have_bright_pixels_and_blanks_have_hardly_any) {
  const JungfrauDataset& data = sample();
  for (std::uint64_t n = 0; n < data.frames(); ++n) {
    std::ptrdiff_t bright = 0;
    for (std::uint32_t m = 0; m < 2; ++m) {
      const auto photons = data.photons(m, n);
      bright += std::count_if(photons.begin(), photons.end(), [](std::uint16_t p) { return p >= 15; });
    }
    if (data.kinds()[n] == FrameKind::hit) {
      EXPECT_GT(bright, 100) << n;
    }
    if (data.kinds()[n] == FrameKind::blank) {
      EXPECT_LT(bright, 10) << n;
    }
  }
}

TEST(JungfrauSimulator, impossible_parameters_are_refused) {
  const auto refused = [](auto change) {
    JungfrauParameters p = small();
    change(p);
    EXPECT_THROW(JungfrauDataset{p}, ConfigError);
  };
  refused([](auto& p) { p.modules = 0; });
  refused([](auto& p) { p.modules = 65; });
  refused([](auto& p) { p.frames = 0; });
  refused([](auto& p) { p.energy_kev = 0; });
  refused([](auto& p) { p.energy_kev = NAN; });
  refused([](auto& p) { p.hit_fraction = 1.01; });
  refused([](auto& p) { p.spots = 100000; });
  refused([](auto& p) { p.background_photons = -1; });
  refused([](auto& p) { p.places = {{0, 0}, {0, 512}, {0, 1024}}; });
  refused([](auto& p) { p.places.assign(p.modules, {0, 1U << 21U}); });
}

TEST(JungfrauSimulator, places_without_gaps_are_those_of_none) {
  JungfrauParameters p = small();
  p.frames = 2;
  const JungfrauDataset none(p);
  p.places = gapless_places(p.modules);
  const JungfrauDataset same(p);
  for (std::uint32_t m = 0; m < p.modules; ++m) {
    EXPECT_EQ(std::memcmp(none.frame(m, 0), same.frame(m, 0), none.shape().frame_bytes()), 0) << m;
  }
}

TEST(CrystalScene, a_gap_hides_a_part_of_the_picture_and_shifts_none) {
  const CrystalScene scene({{0, 0}, {0, 548}}, 12.4, 1.0);
  EXPECT_EQ(scene.module_y(1), 548.0F);
  EXPECT_EQ(scene.background(512, 530), 0.0F) << "the beam stop is in the middle of the assembled image";
  for (const float r : {40.0F, 200.0F, 480.0F}) {
    EXPECT_FLOAT_EQ(scene.background(512, 530 - r), scene.background(512, 530 + r));
    EXPECT_FLOAT_EQ(scene.background(512, 530 - r), scene.background(512 + r, 530));
  }
}

TEST(JungfrauSimulator, more_frames_than_memory_are_a_resource_error) {
  JungfrauParameters p = small();
  p.frames = 1ULL << 30;
  EXPECT_THROW(JungfrauDataset{p}, ResourceError);
}

TEST(JungfrauDataset, who_waits_for_it_sees_how_far_it_is) {
  Making making;
  EXPECT_EQ(making.share(), 0.0);
  const JungfrauDataset data(small(), &making);
  EXPECT_EQ(making.share(), 1.0);
}

}  // namespace
}  // namespace rashpa::dataset
