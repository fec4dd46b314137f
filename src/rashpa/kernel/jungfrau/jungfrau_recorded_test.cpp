// SPDX-License-Identifier: Apache-2.0
/// Recorded frames of a real module; skipped where absent.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/jungfrau/testing/recorded.hpp"

namespace rashpa::kernel::jungfrau {
namespace {

using namespace recorded;

struct Recorded : testing::Test {
  void SetUp() override {
    if (!available()) GTEST_SKIP() << kFolder << " is absent";
  }
};

TEST_F(Recorded, ten_frames_convert_as_the_reference_does) {
  const Config config = recorded::config();
  const Prepared prepared(config);
  std::vector<std::vector<std::uint16_t>> raw;
  std::vector<std::vector<std::int16_t>> truth(10, std::vector<std::int16_t>(kPixels));
  auto fast = truth;
  std::vector<const std::uint16_t*> in;
  std::vector<void*> out, out_truth;
  std::vector<Counts> counts(10), counts_truth(10);
  for (std::size_t i = 0; i < 10; ++i) {
    raw.push_back(load<std::uint16_t>("mod5_raw" + std::to_string(i) + ".bin"));
    in.push_back(raw.back().data());
    out.push_back(fast[i].data());
    out_truth.push_back(truth[i].data());
  }
  const Taps taps{true, 10, false, 0};
  convert_reference(config, {10, in.data(), out_truth.data(), nullptr, counts_truth.data()}, taps, 0, kPixels);
  convert(prepared, {10, in.data(), out.data(), nullptr, counts.data()}, taps, 0, kPixels);
  EXPECT_TRUE(fast == truth);
  EXPECT_EQ(counts, counts_truth);
  EXPECT_GT(counts[0].bright, 1000U);
}

TEST_F(Recorded, recorded_conversion_of_frame_0_agrees_within_the_spread_of_gains) {
  const Config config = recorded::config();
  const auto raw = load<std::uint16_t>("mod5_raw0.bin");
  const auto recorded = load<float>("mod5_conv0.bin");
  std::size_t compared[3] = {};
  std::size_t far[3] = {};
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    const std::int16_t photons = photons_of(raw[pixel], config, pixel);
    if (photons == kMaskedPhotons || photons == kSaturatedPhotons) continue;
    const unsigned gain = raw[pixel] >> 14 == 3 ? 2 : raw[pixel] >> 14;
    compared[gain] += 1;
    // rounding gives 0.5, the gain of the pixel a few percent
    far[gain] += std::abs(photons - recorded[pixel]) > 0.5 + 0.2 * std::abs(recorded[pixel]) ? 1 : 0;
  }
  for (const std::size_t gain : {0U, 1U, 2U}) {
    EXPECT_GT(compared[gain], 0U) << "gain " << gain;
    EXPECT_LE(far[gain], compared[gain] / 50) << "gain " << gain << " of " << compared[gain];
  }
}

}  // namespace
}  // namespace rashpa::kernel::jungfrau
