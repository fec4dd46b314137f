// SPDX-License-Identifier: Apache-2.0
// The unit of rtl/ against the processor's kernel: what comes out of both are the same integers and the same counts.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_fpga.hpp"
#include "rashpa/kernel/jungfrau/recorded.hpp"
#include "unit/card.hpp"

namespace rashpa::sim {
namespace {

namespace jungfrau = kernel::jungfrau;
namespace settings = rtl::registers::settings;
namespace counters = rtl::registers::counters;

constexpr std::int16_t kBright = 10;
constexpr std::uint32_t kPage = 4096;

/// One stack of images by the card.
class Conversion {
 public:
  Conversion(const jungfrau::Config& config, const std::vector<std::vector<std::uint16_t>>& raw) : raw_(raw) {
    const jungfrau::Prepared prepared(config);
    pixels_ = prepared.pixels();
    blocks_ = static_cast<std::uint32_t>((pixels_ + jungfrau::kFpgaBlock - 1) / jungfrau::kFpgaBlock);
    const jungfrau::FpgaTables tables = jungfrau::fpga_tables(prepared);
    card_.times = {.least = 50, .most = 200, .pauses = 2, .bursts = 16};
    set_up(tables);
    convert();
    compare(prepared);
  }
  double beats_a_cycle() {
    return static_cast<double>(card_.read64(counters::kBeats)) / static_cast<double>(card_.read64(counters::kCycles));
  }

 private:
  std::uint32_t take(std::uint32_t pages) {
    const std::uint32_t page = next_;
    next_ += pages;
    return page;
  }
  void put(std::uint32_t page, std::span<const std::byte> bytes) {
    ASSERT_LE(page * std::size_t{kPage} + bytes.size(), card_.memory.size());
    std::memcpy(card_.memory.data() + page * std::size_t{kPage}, bytes.data(), bytes.size());
  }
  template <typename T>
  const T* at(std::uint32_t page) const {
    return reinterpret_cast<const T*>(card_.memory.data() + page * std::size_t{kPage});
  }
  void set_up(const jungfrau::FpgaTables& tables) {
    const std::uint32_t low = take(rtl::kCalibrationPages * blocks_);
    const std::uint32_t high = take(rtl::kCalibrationPages * blocks_);
    put(low, std::as_bytes(std::span(tables.low)));
    put(high, std::as_bytes(std::span(tables.high)));
    const std::size_t rest = pixels_ - (blocks_ - 1) * jungfrau::kFpgaBlock;
    const auto beats = static_cast<std::uint32_t>((rest + jungfrau::kFpgaLanes - 1) / jungfrau::kFpgaLanes);
    const auto lanes = static_cast<std::uint32_t>(rest - (beats - 1) * jungfrau::kFpgaLanes);
    card_.write(settings::kBlocks, blocks_);
    card_.write(settings::kLast, beats - 1);
    card_.write(settings::kLastLanes, lanes == jungfrau::kFpgaLanes ? ~0U : (1U << lanes) - 1);
    card_.write(settings::kImagePages, blocks_);
    card_.write(settings::kCalibrationLow, low);
    card_.write(settings::kCalibrationHigh, high);
    card_.write(settings::kBright, static_cast<std::uint32_t>(kBright));
  }
  void convert() {
    namespace words = rtl::registers::stacks;
    const auto images = static_cast<std::uint32_t>(raw_.size());
    const std::uint32_t raw_page = take(images * blocks_);
    photons_page_ = take(images * blocks_);
    results_page_ = take(1);
    for (std::uint32_t i = 0; i < images; ++i) put(raw_page + i * blocks_, std::as_bytes(std::span(raw_[i])));
    card_.write(words::at(0) + words::kRawPage, raw_page);
    card_.write(words::at(0) + words::kPhotonsPage, photons_page_);
    card_.write(words::at(0) + words::kResultsPage, results_page_);
    card_.write(words::at(0) + words::kImages, images);
    card_.write(rtl::registers::doorbells::kStacksPosted, 1);
    const std::uint64_t longest = card_.cycles() + 64 * pixels_ * images + 1'000'000;
    while (card_.read(rtl::registers::status::kStacksDone) != 1) {
      ASSERT_LT(card_.cycles(), longest) << "the stack is not done";
      for (int i = 0; i < 1000; ++i) card_.cycle();
    }
  }
  void compare(const jungfrau::Prepared& prepared) {
    const std::size_t images = raw_.size();
    std::vector<std::vector<std::int16_t>> photons(images, std::vector<std::int16_t>(pixels_));
    std::vector<const std::uint16_t*> in;
    std::vector<void*> out;
    for (std::size_t i = 0; i < images; ++i) {
      in.push_back(raw_[i].data());
      out.push_back(photons[i].data());
    }
    std::vector<jungfrau::Counts> counts(images);
    jungfrau::convert(prepared, {images, in.data(), out.data(), nullptr, counts.data()}, {true, kBright, false, 0}, 0,
                      pixels_);
    for (std::uint32_t i = 0; i < images; ++i) {
      const auto* const made = at<std::int16_t>(photons_page_ + i * blocks_);
      EXPECT_TRUE(std::equal(photons[i].begin(), photons[i].end(), made)) << "image " << i;
      const auto* const record = at<std::uint32_t>(results_page_) + std::size_t{16} * i;
      EXPECT_EQ((jungfrau::Counts{record[0], record[1], record[2]}), counts[i]) << "image " << i;
    }
    EXPECT_GT(counts[0].bright, 0U);
  }

  const std::vector<std::vector<std::uint16_t>>& raw_;
  rtl::Card card_{1};
  std::size_t pixels_ = 0;
  std::uint32_t blocks_ = 0, next_ = 1, photons_page_ = 0, results_page_ = 0;
};

TEST(UnitRtl, ten_recorded_frames_are_those_of_the_processor) {
  namespace recorded = jungfrau::recorded;
  if (!recorded::available()) GTEST_SKIP() << recorded::kFolder << " is absent";
  std::vector<std::vector<std::uint16_t>> raw;
  for (int i = 0; i < 10; ++i) {
    raw.push_back(recorded::load<std::uint16_t>("mod5_raw" + std::to_string(i) + ".bin"));
  }
  Conversion run(recorded::config(), raw);
  EXPECT_GE(run.beats_a_cycle(), 0.95);  // memory pauses in 2 % of the cycles
}

/// Pixels of all kinds, some without calibration; the last beat is not full.
TEST(UnitRtl, any_calibration_as_the_processor_has_it) {
  constexpr std::uint32_t kWidth = 97, kHeight = 83;
  constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
  rtl::Random random(3);
  jungfrau::Config config{12.4, jungfrau::Output::photons, {kWidth, kHeight, {}, {}, {}}};
  const auto real = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(random.word()) * 0x1p-32F;
  };
  constexpr float kGains[][2] = {{20, 60}, {-3, -0.5F}, {-0.3F, -0.05F}};
  for (const auto& gain : kGains) {
    for (std::size_t p = 0; p < kPixels; ++p) {
      config.calibration.pedestal.push_back(random.chance(2) ? std::numeric_limits<float>::quiet_NaN()
                                                             : real(-100, 16000));
      config.calibration.gain.push_back(random.chance(2) ? 0.0F : real(gain[0], gain[1]));
    }
  }
  for (std::size_t p = 0; p < kPixels; ++p) config.calibration.mask.push_back(random.chance(3) ? 4 : 0);
  std::vector<std::vector<std::uint16_t>> raw(7, std::vector<std::uint16_t>(kPixels));
  for (auto& image : raw) {
    for (auto& word : image) {
      word = static_cast<std::uint16_t>(random.chance(2) ? (random.chance(50) ? 0xFFFF : 0xC000) : random.word());
    }
  }
  const Conversion run(config, raw);
}

TEST(UnitRtl, factors_that_it_does_not_take_are_refused) {
  jungfrau::Config config{2.0, jungfrau::Output::photons, {64, 1, {}, {}, {}}};
  config.calibration.pedestal.assign(192, 100);
  config.calibration.gain.assign(192, 10);
  EXPECT_NO_THROW(jungfrau::fpga_tables(jungfrau::Prepared(config)));
  config.calibration.gain[70] = 0x1p-127F;
  EXPECT_THROW(jungfrau::fpga_tables(jungfrau::Prepared(config)), ConfigError);
  config.calibration.gain[70] = 10;
  config.output = jungfrau::Output::kev;
  EXPECT_THROW(jungfrau::fpga_tables(jungfrau::Prepared(config)), ConfigError);
}

}  // namespace
}  // namespace rashpa::sim
