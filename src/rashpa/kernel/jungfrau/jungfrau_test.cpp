// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/jungfrau/testing/cases.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"

namespace rashpa::kernel::jungfrau {
namespace {

/// The results of a conversion of a stack. NaN are compared as bits.
struct Result {
  std::vector<std::vector<std::uint8_t>> pixels;
  std::vector<std::vector<std::uint64_t>> marks;
  std::vector<Counts> counts;
  friend bool operator==(const Result&, const Result&) = default;
};

using Stack = std::vector<std::vector<std::uint16_t>>;

template <class Convert>
Result run(const Config& config, const Stack& stack, std::size_t offset, Convert convert) {
  const std::size_t pixels = stack.front().size();
  const std::size_t bytes = pixels * (config.output == Output::kev ? 4 : 2);
  Result result;
  result.counts.resize(stack.size());
  std::vector<std::vector<std::uint8_t>> memory(stack.size(), std::vector<std::uint8_t>(bytes + 256, 0xEE));
  result.marks.assign(stack.size(), std::vector<std::uint64_t>((pixels + 63) / 64, 0));
  std::vector<const std::uint16_t*> raw;
  std::vector<void*> out;
  std::vector<std::uint64_t*> marks;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    raw.push_back(stack[i].data());
    const auto address = reinterpret_cast<std::uintptr_t>(memory[i].data());
    out.push_back(memory[i].data() + (64 - address % 64) + offset);
    marks.push_back(result.marks[i].data());
  }
  convert(Images{stack.size(), raw.data(), out.data(), marks.data(), result.counts.data()});
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const auto* begin = static_cast<const std::uint8_t*>(out[i]);
    result.pixels.emplace_back(begin, begin + bytes);
    for (const std::uint8_t* p = memory[i].data(); p < memory[i].data() + memory[i].size(); ++p) {
      if (p < begin || p >= begin + bytes) {
        EXPECT_EQ(*p, 0xEE) << "written outside the image";
      }
    }
  }
  return result;
}

void expect_all_targets_agree(const Config& config, const Stack& stack, const Taps& taps, std::size_t offset = 0) {
  const std::size_t pixels = stack.front().size();
  const Result truth =
      run(config, stack, offset, [&](const Images& images) { convert_reference(config, images, taps, 0, pixels); });
  const Prepared prepared(config);
  on_every_target([&] {
    const Result fast =
        run(config, stack, offset, [&](const Images& images) { convert(prepared, images, taps, 0, pixels); });
    EXPECT_TRUE(fast.pixels == truth.pixels) << "pixels differ";
    EXPECT_EQ(fast.counts, truth.counts);
    EXPECT_TRUE(fast.marks == truth.marks) << "marks differ";
  });
}

TEST(Jungfrau, every_row_of_the_decode_table_holds) {
  for (const Row& row : kRows) {
    for (const Output output : {Output::photons, Output::kev}) {
      const Config config = config_of(row, output);
      if (output == Output::photons) {
        EXPECT_EQ(photons_of(row.word, config, 7), row.photons) << row.what;
      } else if (std::isnan(row.kev)) {
        EXPECT_TRUE(std::isnan(kev_of(row.word, config, 7))) << row.what;
      } else {
        EXPECT_FLOAT_EQ(kev_of(row.word, config, 7), static_cast<float>(row.kev)) << row.what;
      }
      SCOPED_TRACE(row.what);
      const Taps taps{output == Output::photons, 5, output == Output::photons, 50};
      expect_all_targets_agree(config, Stack(3, std::vector<std::uint16_t>(64, row.word)), taps);
    }
  }
}

TEST(Jungfrau, every_word_converts_alike_everywhere) {
  for (const Output output : {Output::photons, Output::kev}) {
    Config config = synthetic::config(256, 256, output, 11, 0.05);
    Stack stack(2, std::vector<std::uint16_t>(65536));
    for (std::size_t i = 0; i < 65536; ++i) {
      stack[0][i] = static_cast<std::uint16_t>(i);
      stack[1][i] = static_cast<std::uint16_t>(i * 40503U);
    }
    expect_all_targets_agree(config, stack, {output == Output::photons, 1, output == Output::photons, 1});
  }
}

TEST(Jungfrau, odd_sizes_tails_and_unaligned_outputs_convert_alike) {
  synthetic::Random random(5);
  for (const std::uint32_t width : {1U, 7U, 31U, 63U, 64U, 65U, 129U, 1030U}) {
    for (const std::uint32_t height : {1U, 3U, 17U}) {
      for (const Output output : {Output::photons, Output::kev}) {
        const Config config = synthetic::config(width, height, output, width * 100 + height, 0.1);
        Stack stack(1 + random.below(5));
        for (auto& image : stack) {
          image = synthetic::frame(config, 0.05, random.next());
          for (auto& word : image) word = random.below(10) == 0 ? static_cast<std::uint16_t>(random.next()) : word;
        }
        SCOPED_TRACE(testing::Message() << width << " x " << height);
        const bool photons = output == Output::photons;
        expect_all_targets_agree(config, stack, {photons, 1, photons, 2}, std::size_t{4} * random.below(2));
      }
    }
  }
}

TEST(Jungfrau, random_words_and_calibrations_convert_alike) {
  synthetic::Random random(17);
  for (int round = 0; round < 20; ++round) {
    const bool photons = round % 4 != 3;
    Config config = synthetic::config(301, 67, photons ? Output::photons : Output::kev, random.next(), 0.02);
    config.photon_energy_kev = 0.5 + 30 * random.uniform();
    for (int i = 0; i < 300; ++i) {  // calibrations that no detector should have
      const std::size_t at = random.below(3 * 301 * 67);
      constexpr float kOdd[] = {0.0F, -0.0F, 1e-30F, 1e-3F, 1e30F, NAN, INFINITY, -40.0F, 16384.0F, 3e7F};
      (i % 2 == 0 ? config.calibration.gain : config.calibration.pedestal)[at] = kOdd[random.below(10)];
    }
    Stack stack(1 + random.below(20));
    for (auto& image : stack) {
      image = synthetic::frame(config, 0.03, random.next());
      const std::uint32_t rare = 1U << random.below(12);
      for (auto& word : image) word = random.below(rare) == 0 ? static_cast<std::uint16_t>(random.next()) : word;
    }
    const auto threshold = [&] { return static_cast<std::int16_t>(round == 0 ? INT16_MIN : random.next() % 64); };
    expect_all_targets_agree(config, stack,
                             {photons && round % 3 != 0, threshold(), photons && round % 2 == 0, threshold()});
  }
}

TEST(Jungfrau, ranges_make_up_the_whole) {
  const Config config = synthetic::config(1030, 50, Output::photons, 3);
  const Stack stack{synthetic::frame(config, 0.02, 1), synthetic::frame(config, 0.02, 2),
                    synthetic::frame(config, 0.02, 3)};
  const Prepared prepared(config);
  const Taps taps{true, 4, true, 1};
  const Result whole = run(config, stack, 0, [&](const Images& images) { convert(prepared, images, taps, 0, 51500); });
  const Result parts = run(config, stack, 0, [&](const Images& images) {
    for (std::size_t first = 0; first < 51500; first += 4096) {
      convert(prepared, images, taps, first, std::min<std::size_t>(first + 4096, 51500));
    }
  });
  EXPECT_EQ(whole, parts);
  EXPECT_GT(whole.counts[0].bright, 0U);
}

TEST(Jungfrau, photons_are_rounded_once_from_the_product_as_float32) {
  // (103 − 100) · float32(1/6) is a float32 tie of exactly 0.5 that a fused multiply-add would see as 0.5 + 3.7e-9 and
  // round up.
  Config config = simple(Output::photons);
  config.photon_energy_kev = 1.0;
  for (std::size_t i = 0; i < 64; ++i) config.calibration.gain[i] = 6.0F;
  EXPECT_EQ(photons_of(103, config, 0), 0);
  expect_all_targets_agree(config, Stack(2, std::vector<std::uint16_t>(64, 103)), {});
}

TEST(Jungfrau, calibrations_of_wrong_size_are_refused_with_the_numbers) {
  const auto text_of = [](const Config& config) -> std::string {
    try {
      const Prepared prepared(config);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  Config config = simple(Output::photons);
  EXPECT_EQ(text_of(config), "accepted");
  config.calibration.gain.pop_back();
  EXPECT_EQ(text_of(config), "jungfrau: gain has 191 values; give 3 × 1 × 64 = 192");
  config = simple(Output::photons);
  config.calibration.mask.resize(63);
  EXPECT_EQ(text_of(config), "jungfrau: mask has 63 values; give 1 × 1 × 64 = 64");
  config = simple(Output::photons);
  config.photon_energy_kev = 0;
  EXPECT_EQ(text_of(config), "jungfrau: photon_energy_kev is 0; give a number above 0");
  EXPECT_EQ(text_of({}), "jungfrau: the calibration has no pixels; set width and height");
}

}  // namespace
}  // namespace rashpa::kernel::jungfrau
