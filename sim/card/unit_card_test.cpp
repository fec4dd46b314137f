// SPDX-License-Identifier: Apache-2.0
// The processing unit behind its driver: card in a directory, RTL, memory. What comes out is what the processor's
// kernel makes: the same integers, the same counts.
#include "rashpa/card/unit_card.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "card_directory.hpp"
#include "rashpa/card/card.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_fpga.hpp"
#include "rashpa/kernel/jungfrau/testing/recorded.hpp"
#include "unit_testing.hpp"

namespace rashpa::sim {
namespace {

namespace jungfrau = kernel::jungfrau;
using card::UnitCard;
using card::UnitStack;
using State = card::unit_registers::State;
using ErrorCode = card::unit_registers::ErrorCode;
using sim::testing::UnitOfTest;
using namespace std::chrono_literals;

constexpr std::int16_t kBright = 10;
constexpr kernel::PixelFormat kPhotons{PixelType::i16, kernel::Masked::minimum};
constexpr std::uint64_t kMemory = sim::testing::kUnitMemory;
using Images = std::vector<std::vector<std::uint16_t>>;

/// Calibration and places of stacks in card memory.
class Job {
 public:
  /// `capacity`: of lists of pixels from `threshold` photons on; 0: no lists.
  Job(UnitCard& card, const jungfrau::Config& config, std::size_t capacity = 0, std::int16_t threshold = 1)
      : card_(card), prepared_(config), capacity_(capacity) {
    pixels_ = prepared_.pixels();
    blocks_ = card::unit_blocks(pixels_);
    const kernel::FpgaTables tables = jungfrau::fpga_tables(prepared_);
    const std::uint32_t low = take(card::kUnitCalibrationPages * blocks_);
    const std::uint32_t high = take(card::kUnitCalibrationPages * blocks_);
    put(low, std::as_bytes(std::span(tables.low)));
    put(high, std::as_bytes(std::span(tables.high)));
    setup_ = {
        .pixels = pixels_, .image_pages = blocks_, .calibration_low = low, .calibration_high = high, .bright = kBright};
    if (capacity != 0) {
      setup_.lists = {.on = true, .threshold = threshold, .pages = card::unit_list_pages(pixels_, capacity)};
    }
    card_.set_up(setup_);
  }
  UnitStack bring(const Images& raw) {
    const auto images = static_cast<std::uint32_t>(raw.size());
    const UnitStack stack{take(images * blocks_), take(images * blocks_), take(1), images,
                          take(images * setup_.lists.pages)};
    for (std::uint32_t i = 0; i < images; ++i) put(stack.raw + i * blocks_, std::as_bytes(std::span(raw[i])));
    return stack;
  }
  /// False: an error, or nothing has moved for ten seconds.
  bool wait(std::uint32_t done) {
    std::uint32_t beats = 0;
    auto end = std::chrono::steady_clock::now() + 10s;
    while (card_.done() != done && !card_.error() && std::chrono::steady_clock::now() < end) {
      card_.wait(1000);
      const std::uint32_t now = card_.read32(card::unit_registers::counters::kBeats);
      if (std::exchange(beats, now) != now) end = std::chrono::steady_clock::now() + 10s;
    }
    return card_.done() == done;
  }
  void expect_as_processor(const Images& raw, const UnitStack& stack) {
    const std::size_t images = raw.size();
    std::vector<std::vector<std::int16_t>> photons(images, std::vector<std::int16_t>(pixels_));
    std::vector<const std::uint16_t*> in;
    std::vector<void*> out;
    for (std::size_t i = 0; i < images; ++i) {
      in.push_back(raw[i].data());
      out.push_back(photons[i].data());
    }
    std::vector<jungfrau::Counts> counts(images);
    jungfrau::convert(prepared_, {images, in.data(), out.data(), nullptr, counts.data()}, {true, kBright, false, 0}, 0,
                      pixels_);
    std::vector<card::UnitCounts> records(images);
    card_.from_card(stack.results * card::kCardPage, std::as_writable_bytes(std::span(records)));
    for (std::uint32_t i = 0; i < images; ++i) {
      std::vector<std::int16_t> made(pixels_);
      card_.from_card((stack.photons + i * blocks_) * card::kCardPage, std::as_writable_bytes(std::span(made)));
      EXPECT_TRUE(made == photons[i]) << "image " << i;
      EXPECT_EQ((jungfrau::Counts{records[i].masked, records[i].saturated, records[i].bright}), counts[i])
          << "image " << i;
      EXPECT_THAT(records[i].reserved, ::testing::Each(0U));
      expect_list(photons[i], stack.lists + i * setup_.lists.pages, records[i]);
    }
    EXPECT_GT(counts[0].bright, 0U);
  }
  [[nodiscard]] const card::UnitSetup& setup() const { return setup_; }
  /// Lists that have been compared, entries of these, and lists that had no room.
  struct Lists {
    std::size_t compared = 0, entries = 0, overflows = 0;
  };
  [[nodiscard]] const Lists& lists() const { return lists_; }

 private:
  std::uint32_t take(std::uint32_t pages) {
    const std::uint32_t page = next_;
    next_ += pages;
    return page;
  }
  void put(std::uint32_t page, std::span<const std::byte> bytes) { card_.to_card(page * card::kCardPage, bytes); }

  void expect_list(const std::vector<std::int16_t>& photons, std::uint32_t page, const card::UnitCounts& record) {
    if (!setup_.lists.on) {
      EXPECT_EQ(record.listed, 0U);
      EXPECT_EQ(record.list_beats, 0U);
      return;
    }
    std::vector<std::uint32_t> index(pixels_), card_index(record.listed);
    std::vector<std::int16_t> value(pixels_), card_value(record.listed);
    const std::size_t wanted = kernel::csr::compact_reference(photons.data(), kPhotons, pixels_, setup_.lists.threshold,
                                                              {index.data(), value.data(), pixels_});
    ASSERT_EQ(record.listed, wanted);
    if (wanted > capacity_) {
      lists_.overflows += 1;
      return;
    }
    index.resize(wanted);
    value.resize(wanted);
    std::vector<std::byte> beats(std::size_t{record.list_beats} * card::kUnitListBeatBytes);
    ASSERT_LE(beats.size(), setup_.lists.pages * card::kCardPage);
    if (!beats.empty()) card_.from_card(page * card::kCardPage, beats);
    EXPECT_EQ(card::unpack_list(beats, pixels_, {card_index, card_value}), wanted);
    EXPECT_TRUE(card_index == index);
    EXPECT_TRUE(card_value == value);
    lists_.compared += 1;
    lists_.entries += wanted;
  }

  UnitCard& card_;
  jungfrau::Prepared prepared_;
  card::UnitSetup setup_;
  std::size_t capacity_ = 0;
  Lists lists_;
  std::size_t pixels_ = 0;
  std::uint32_t blocks_ = 0, next_ = 1;
};

/// Pixels of all kinds, some without calibration; the last beat of an image is not full.
class Detector {
 public:
  jungfrau::Config config() {
    constexpr std::uint32_t kWidth = 97, kHeight = 83;
    constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
    jungfrau::Config config{12.4, jungfrau::Output::photons, {kWidth, kHeight, {}, {}, {}}};
    constexpr float kGains[][2] = {{20, 60}, {-3, -0.5F}, {-0.3F, -0.05F}};
    for (const auto& gain : kGains) {
      for (std::size_t p = 0; p < kPixels; ++p) {
        config.calibration.pedestal.push_back(chance(2) ? std::numeric_limits<float>::quiet_NaN() : real(-100, 16000));
        config.calibration.gain.push_back(chance(2) ? 0.0F : real(gain[0], gain[1]));
      }
    }
    for (std::size_t p = 0; p < kPixels; ++p) config.calibration.mask.push_back(chance(3) ? 4 : 0);
    return config;
  }
  Images images(std::size_t count) {
    Images raw(count, std::vector<std::uint16_t>(std::size_t{97} * 83));
    for (auto& image : raw) {
      for (auto& word : image) {
        word = static_cast<std::uint16_t>(chance(2) ? (chance(50) ? 0xFFFF : 0xC000) : engine_());
      }
    }
    return raw;
  }

 private:
  bool chance(unsigned percent) { return engine_() % 100 < percent; }
  float real(float low, float high) { return low + (high - low) * static_cast<float>(engine_()) * 0x1p-32F; }
  std::mt19937 engine_{3};
};

TEST(UnitCardTest, ten_recorded_frames_are_those_of_the_processor) {
  namespace recorded = jungfrau::recorded;
  if (!recorded::available()) GTEST_SKIP() << recorded::kFolder << " is absent";
  Images raw;
  for (int i = 0; i < 10; ++i) {
    raw.push_back(recorded::load<std::uint16_t>("mod5_raw" + std::to_string(i) + ".bin"));
  }
  const UnitOfTest unit;
  UnitCard card(unit.path());
  Job job(card, recorded::config());
  const UnitStack stack = job.bring(raw);
  ASSERT_TRUE(job.wait(card.post(stack)));
  job.expect_as_processor(raw, stack);
}

TEST(UnitCardTest, frames_of_another_module_and_recorded_words_of_other_gains_are_those_of_the_processor) {
  namespace recorded = jungfrau::recorded;
  if (!recorded::available() || !recorded::darks_available()) GTEST_SKIP() << "recorded frames are absent";
  Images raw = recorded::darks();
  ASSERT_EQ(raw.size(), 10U);
  for (int i = 0; i < 3; ++i) {
    raw.push_back(recorded::load<std::uint16_t>("mod5_raw" + std::to_string(i) + ".bin"));
    for (std::uint16_t& word : raw.back()) word ^= static_cast<std::uint16_t>((i + 1) << 14U);
  }
  const UnitOfTest unit;
  UnitCard card(unit.path());
  Job job(card, recorded::config(), raw.front().size() / 2);
  const UnitStack stack = job.bring(raw);
  ASSERT_TRUE(job.wait(card.post(stack)));
  job.expect_as_processor(raw, stack);
}

TEST(UnitCardTest, lists_of_recorded_frames_are_those_of_the_processor) {
  namespace recorded = jungfrau::recorded;
  if (!recorded::available()) GTEST_SKIP() << recorded::kFolder << " is absent";
  Images raw;
  for (int i = 0; i < 10; ++i) {
    raw.push_back(recorded::load<std::uint16_t>("mod5_raw" + std::to_string(i) + ".bin"));
  }
  const UnitOfTest unit;
  UnitCard card(unit.path());
  for (const int threshold : {1, 10, 100}) {
    Job job(card, recorded::config(), raw.front().size(), static_cast<std::int16_t>(threshold));
    const UnitStack stack = job.bring(raw);
    ASSERT_TRUE(job.wait(card.post(stack)));
    job.expect_as_processor(raw, stack);
    EXPECT_EQ(job.lists().compared, 10U);
    EXPECT_GT(job.lists().entries, 100U);
  }
}

TEST(UnitCardTest, lists_of_any_room_are_those_of_the_processor_or_said_to_be_too_long) {
  const UnitOfTest unit;
  UnitCard card(unit.path());
  Detector detector;
  const std::size_t pixels = std::size_t{97} * 83;
  std::size_t compared = 0, overflows = 0;
  for (const std::size_t capacity : {pixels, pixels / 2, pixels / 4, std::size_t{1}}) {
    for (const int threshold : {1, 1000, 32767}) {
      Job job(card, detector.config(), capacity, static_cast<std::int16_t>(threshold));
      const Images raw = detector.images(3);
      const UnitStack stack = job.bring(raw);
      ASSERT_TRUE(job.wait(card.post(stack)));
      job.expect_as_processor(raw, stack);
      compared += job.lists().compared;
      overflows += job.lists().overflows;
    }
  }
  EXPECT_GT(compared, 0U);
  EXPECT_GT(overflows, 0U);
}

TEST(UnitCardTest, what_is_no_list_is_not_taken_for_one) {
  // Two beats: pixels 3 and 7, then pixel 5 of block 33.
  std::array<std::uint16_t, 64> words{};
  words[0] = 11;
  words[1] = 0xFFFF;
  words[16] = 3;
  words[17] = 7;
  words[20] = 2U << 11U;
  words[32] = 12;
  words[48] = 1U << 11U | 5U;
  words[49] = 1U << 11U;
  words[52] = 1U << 11U;
  std::array<std::uint32_t, 3> index{};
  std::array<std::int16_t, 3> value{};
  const auto unpacked = [&](std::size_t room, std::uint64_t pixels) {
    return card::unpack_list(std::as_bytes(std::span(words)), pixels,
                             {std::span(index).first(room), std::span(value).first(room)});
  };
  EXPECT_EQ(unpacked(3, 70'000), 3U);
  EXPECT_THAT(index, ::testing::ElementsAre(3U, 7U, 33U * 2048U + 5U));
  EXPECT_THAT(value, ::testing::ElementsAre(11, -1, 12));
  EXPECT_FALSE(unpacked(2, 70'000)) << "more than there is room for";
  EXPECT_FALSE(unpacked(3, 33U * 2048U + 5U)) << "behind the last pixel";
  words[17] = 3;
  EXPECT_FALSE(unpacked(3, 70'000)) << "a pixel twice";
  words[17] = 7;
  words[20] = 17U << 11U;
  EXPECT_FALSE(unpacked(3, 70'000)) << "more entries than a beat has";
  EXPECT_FALSE(card::unpack_list(std::as_bytes(std::span(words)).first(63), 70'000, {index, value})) << "half a beat";
}

TEST(UnitCardTest, stacks_in_a_row_as_the_processor_has_them) {
  const UnitOfTest unit;
  UnitCard card(unit.path());
  Detector detector;
  Job job(card, detector.config());
  std::vector<Images> raw;
  std::vector<UnitStack> stacks;
  for (const std::size_t images : {7U, 1U, 64U, 3U}) {
    raw.push_back(detector.images(images));
    stacks.push_back(job.bring(raw.back()));
  }
  std::uint32_t last = 0;
  for (const UnitStack& stack : stacks) last = card.post(stack);
  ASSERT_TRUE(job.wait(last));
  for (std::size_t i = 0; i < stacks.size(); ++i) job.expect_as_processor(raw[i], stacks[i]);
  EXPECT_EQ(card.state(), State::idle);
}

TEST(UnitCardTest, abort_drops_what_is_posted_and_the_next_program_goes_on) {
  const UnitOfTest unit;
  Detector detector;
  {
    UnitCard card(unit.path());
    Job job(card, detector.config());
    const UnitStack stack = job.bring(detector.images(40));
    for (std::uint32_t i = 0; i < card.slots(); ++i) card.post(stack);
    EXPECT_THROW(card.set_up(job.setup()), StateError);
    card.abort();
    EXPECT_EQ(card.done(), card.posted());
  }
  UnitCard card(unit.path());
  Job job(card, detector.config());
  const Images raw = detector.images(5);
  const UnitStack stack = job.bring(raw);
  ASSERT_TRUE(job.wait(card.post(stack)));
  job.expect_as_processor(raw, stack);
}

TEST(UnitCardTest, what_memory_refuses_is_an_error_until_abort) {
  const UnitOfTest unit(kMemory / 2);
  UnitCard card(unit.path());
  Detector detector;
  Job job(card, detector.config(), 1000);
  const Images raw = detector.images(3);
  const UnitStack good = job.bring(raw);
  const auto beyond = static_cast<std::uint32_t>(kMemory / 2 / card::kCardPage);
  const auto expect = [&](UnitStack bad, ErrorCode code) {
    EXPECT_FALSE(job.wait(card.post(bad)));
    ASSERT_TRUE(card.error());
    EXPECT_EQ(card.error()->code, code) << text_of(*card.error());
    // It is written behind the error that it is about.
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (card.state() != State::failed && std::chrono::steady_clock::now() < end) card.wait(1000);
    EXPECT_EQ(card.state(), State::failed);
    card.abort();
    EXPECT_FALSE(card.error());
    ASSERT_TRUE(job.wait(card.post(good)));
    job.expect_as_processor(raw, good);
  };
  expect({beyond, good.photons, good.results, 3, good.lists}, ErrorCode::read);
  expect({good.raw, beyond, good.results, 3, good.lists}, ErrorCode::write);
  expect({good.raw, good.photons, beyond, 3, good.lists}, ErrorCode::write);
  expect({good.raw, good.photons, good.results, 3, beyond}, ErrorCode::write);
  expect({good.raw, good.photons, good.results, 0, good.lists}, ErrorCode::images);
  expect({good.raw, good.photons, good.results, card.most_images() + 1, good.lists}, ErrorCode::images);
  card::UnitSetup setup = job.setup();
  setup.calibration_high = beyond;
  card.set_up(setup);
  EXPECT_FALSE(job.wait(card.post(good)));
  ASSERT_TRUE(card.error());
  EXPECT_EQ(card.error()->code, ErrorCode::calibration);
  EXPECT_THAT(text_of(*card.error()), ::testing::HasSubstr("calibration"));
  card.abort();
}

TEST(UnitCardTest, a_card_that_does_not_answer_is_an_error_in_bounded_time) {
  UnitOfTest unit;
  UnitCard card(unit.path());
  unit.held = true;
  ASSERT_EVENTUALLY(unit.still);
  try {
    card.abort(50'000);
    FAIL() << "it has answered";
  } catch (const StateError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("check that it runs"));
  }
  unit.held = false;
  EXPECT_NO_THROW(card.abort());
}

TEST(UnitCardTest, another_design_is_no_processing_unit) {
  const UnitOfTest unit;
  EXPECT_THROW(card::Card{unit.path()}, ResourceError);
  const TemporaryFolder folder;
  CardDirectory sender(folder.path(), 4096);
  EXPECT_THROW(UnitCard{folder.path()}, ResourceError);
}

TEST(UnitCardTest, setups_that_make_no_sense_are_refused) {
  const UnitOfTest unit;
  UnitCard card(unit.path());
  EXPECT_THROW(card.set_up({.pixels = 0, .image_pages = 1}), ConfigError);
  EXPECT_THROW(card.set_up({.pixels = 4096, .image_pages = 1}), ConfigError);
  EXPECT_THROW(card.set_up({.pixels = std::uint64_t{1} << 40U, .image_pages = ~0U}), ConfigError);
  EXPECT_THROW(card.set_up({.pixels = 2048, .image_pages = 1, .lists = {.on = true}}), ConfigError);
  EXPECT_THROW(card.to_card(kMemory - 1, std::vector<std::byte>(2)), ConfigError);
}

TEST(UnitCardTest, factors_that_the_unit_does_not_take_are_refused) {
  jungfrau::Config config{2.0, jungfrau::Output::photons, {64, 1, {}, {}, {}}};
  config.calibration.pedestal.assign(192, 100);
  config.calibration.gain.assign(192, 10);
  EXPECT_NO_THROW(jungfrau::fpga_tables(jungfrau::Prepared(config)));
  for (const float sign : {1.0F, -1.0F}) {
    config.calibration.gain[70] = sign * 0x1p-126F;
    EXPECT_NO_THROW(jungfrau::fpga_tables(jungfrau::Prepared(config))) << "2^125 photons/ADU";
    config.calibration.gain[70] = sign * 0x1.fffffcp-127F;
    try {
      jungfrau::fpga_tables(jungfrau::Prepared(config));
      FAIL() << "a factor larger than 2^125 is taken";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("pixel 6, gain 1"));
    }
  }
  config.calibration.gain[70] = 0x1p-127F;
  EXPECT_THROW(jungfrau::fpga_tables(jungfrau::Prepared(config)), ConfigError);
  config.calibration.gain[70] = 0x1p-140F;  // infinite: no calibration, as without a gain
  EXPECT_NO_THROW(jungfrau::fpga_tables(jungfrau::Prepared(config)));
  config.calibration.gain[70] = 10;
  config.output = jungfrau::Output::kev;
  EXPECT_THROW(jungfrau::fpga_tables(jungfrau::Prepared(config)), ConfigError);
}

}  // namespace
}  // namespace rashpa::sim
