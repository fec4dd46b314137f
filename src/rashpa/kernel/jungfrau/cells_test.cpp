// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/cells.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/contract/by_cell.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/jungfrau/testing/cases.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"

namespace rashpa::kernel::jungfrau {
namespace {

constexpr std::array<std::uint32_t, 3> kNamed{5, 0, 15};

/// One configuration for each of kNamed, and one with all of them.
struct Sets {
  std::vector<Config> each;
  Config all;
};

Sets joined(std::vector<Config> each) {
  Config all = each.front();
  for (std::size_t set = 1; set < each.size(); ++set) {
    const Calibration& more = each[set].calibration;
    all.calibration.pedestal.insert(all.calibration.pedestal.end(), more.pedestal.begin(), more.pedestal.end());
    all.calibration.gain.insert(all.calibration.gain.end(), more.gain.begin(), more.gain.end());
    each[set].calibration.mask = all.calibration.mask;
  }
  all.cells.assign(kNamed.begin(), kNamed.begin() + static_cast<std::ptrdiff_t>(each.size()));
  return {std::move(each), std::move(all)};
}

using Words = std::vector<std::vector<std::uint16_t>>;

/// The results of a pass over a stack, with guard bytes around each image.
struct Made {
  static constexpr std::size_t kGuard = 64;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::vector<std::uint64_t>> marks;
  std::vector<std::uint8_t> failed;
  std::vector<std::array<Scalar, 4>> scalars;
  std::vector<std::uint32_t> counted;
  std::string failure;
  [[nodiscard]] const std::byte* pixels(std::size_t image) const { return aligned(memory[image]); }
  static const std::byte* aligned(const std::vector<std::byte>& one) {
    return one.data() + kGuard + (kGuard - reinterpret_cast<std::uintptr_t>(one.data()) % kGuard) % kGuard;
  }
};

Setup setup_of(const Config& config, std::size_t stack) {
  return {.shape = {config.calibration.width, config.calibration.height},
          .in = {PixelType::u16, Masked::maximum},
          .stack = static_cast<std::uint32_t>(stack),
          .places = static_cast<std::uint32_t>(stack)};
}

/// Plays a stack. `dark`: which images are dark; null: nothing is learned.
Made play(CpuPass& pass, const Words& words, const std::vector<std::uint8_t>& cells, std::size_t pixel_bytes,
          const std::uint8_t* dark = nullptr) {
  const std::size_t pixels = words.front().size();
  const std::size_t bytes = pixels * pixel_bytes;
  Made made;
  made.memory.assign(words.size(), std::vector<std::byte>(bytes + 3 * Made::kGuard, std::byte{0xEE}));
  made.marks.assign(words.size(), std::vector<std::uint64_t>((pixels + 63) / 64, 0));
  made.scalars.resize(words.size());
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  std::vector<std::uint64_t*> marks;
  std::vector<std::uint32_t> place;
  for (std::size_t i = 0; i < words.size(); ++i) {
    in.push_back(reinterpret_cast<const std::byte*>(words[i].data()));
    out.push_back(const_cast<std::byte*>(made.pixels(i)));
    marks.push_back(made.marks[i].data());
    place.push_back(static_cast<std::uint32_t>(i));
  }
  able<ByCell>(pass)->take_cells(cells);
  pass.begin(words.size());
  for (std::size_t first = 0; first < pixels; first += 4096) {
    pass.run(0, {0, words.size(), in.data(), out.data(), marks.data(), place.data(), nullptr, dark}, first,
             std::min<std::size_t>(first + 4096, pixels));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    Finding finding{.scalars = made.scalars[i].data()};
    pass.finish(i, finding);
    made.failed.push_back(finding.failed ? 1 : 0);
    made.counted.push_back(finding.counted);
    for (const std::byte* p = made.memory[i].data(); p < made.memory[i].data() + made.memory[i].size(); ++p) {
      if (p < out[i] || p >= out[i] + bytes) {
        EXPECT_EQ(*p, std::byte{0xEE}) << "written outside the image";
      }
    }
  }
  made.failure = pass.failure();
  return made;
}

Made made_of(const Config& config, const Words& words, const std::vector<std::uint8_t>& cells, const Taps& taps) {
  Setup setup = setup_of(config, words.size());
  if (taps.count) setup.count_at = taps.bright_threshold;
  if (taps.mark) setup.mark_at = taps.mark_threshold;
  return play(*step_of(config)->on_cpu(setup), words, cells, config.output == Output::kev ? 4 : 2);
}

/// Every image as the plain reference makes it with the calibration of its own cell; those of other cells fail.
void expect_as_references(const Sets& sets, const Words& words, const std::vector<std::uint8_t>& cells,
                          const Taps& taps) {
  const std::size_t pixels = words.front().size();
  const std::size_t bytes = pixels * (sets.all.output == Output::kev ? 4 : 2);
  on_every_target([&] {
    const Made made = made_of(sets.all, words, cells, taps);
    for (std::size_t i = 0; i < words.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "image " << i << " of cell " << int{cells[i]});
      const auto* const named = std::find(kNamed.begin(), kNamed.end(), cells[i]);
      const auto set = static_cast<std::size_t>(named - kNamed.begin());
      ASSERT_EQ(made.failed[i] != 0, set >= sets.each.size());
      if (set >= sets.each.size()) {
        EXPECT_TRUE(std::all_of(made.pixels(i), made.pixels(i) + bytes, [](std::byte b) {
          return b == std::byte{0xEE};
        })) << "an image that fails is left alone";
        continue;
      }
      std::vector<std::byte> truth(bytes);
      std::vector<std::uint64_t> marks((pixels + 63) / 64, 0);
      const std::uint16_t* raw = words[i].data();
      void* out = truth.data();
      std::uint64_t* mark = marks.data();
      Counts counts;
      convert_reference(sets.each[set], {1, &raw, &out, &mark, &counts}, taps, 0, pixels);
      EXPECT_EQ(std::memcmp(made.pixels(i), truth.data(), bytes), 0);
      EXPECT_EQ(made.scalars[i][0].count(), counts.masked);
      EXPECT_EQ(made.scalars[i][1].count(), counts.saturated);
      EXPECT_EQ(made.counted[i], taps.count ? counts.bright : 0);
      EXPECT_EQ(made.marks[i], marks);
    }
  });
}

TEST(JungfrauCells, each_row_of_the_decode_table_holds_in_the_set_of_its_cell) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    for (const Output output : {Output::photons, Output::kev}) {
      const bool photons = output == Output::photons;
      const Sets sets = joined({simple(output), config_of(row, output), simple(output)});
      Sets masked = sets;  // the mask is one for all cells
      masked.all.calibration.mask.assign(64, row.mask);
      for (Config& one : masked.each) one.calibration.mask.assign(64, row.mask);
      const Words words(4, std::vector<std::uint16_t>(64, row.word));
      expect_as_references(masked, words, {5, 0, 15, 0}, {photons, 5, photons, 50});
    }
  }
}

TEST(JungfrauCells, stacks_of_mixed_cells_are_as_the_reference_of_each_cell) {
  synthetic::Random random(3);
  for (const Output output : {Output::photons, Output::kev}) {
    const bool photons = output == Output::photons;
    const Sets sets = joined({synthetic::config(301, 67, output, 1), synthetic::config(301, 67, output, 2),
                              synthetic::config(301, 67, output, 3)});
    Words words;
    std::vector<std::uint8_t> cells;
    for (int i = 0; i < 17; ++i) {
      words.push_back(synthetic::frame(sets.each[random.below(3)], 0.05, random.next()));
      cells.push_back(static_cast<std::uint8_t>(kNamed[random.below(3)]));
    }
    cells[4] = 7;        // nobody has calibrated it
    cells[9] = kNoCell;  // modules that differ
    expect_as_references(sets, words, cells, {photons, 1, photons, 2});
  }
}

TEST(JungfrauCells, an_image_of_an_unknown_cell_says_which) {
  const Sets sets = joined({simple(Output::photons), simple(Output::photons), simple(Output::photons)});
  const Words words(1, std::vector<std::uint16_t>(64, 300));
  EXPECT_EQ(made_of(sets.all, words, {15}, {}).failure, "");
  EXPECT_EQ(made_of(sets.all, words, {7}, {}).failure,
            "it is of storage cell 7, and the calibration has 5, 0, 15; calibrate that cell");
  EXPECT_EQ(made_of(sets.all, words, {kNoCell}, {}).failure,
            "its modules are of different storage cells; start them together");
}

TEST(JungfrauCells, one_set_without_a_named_cell_is_for_all) {
  const Config config = simple(Output::photons);
  const Made made = made_of(config, Words(2, std::vector<std::uint16_t>(64, 300)), {7, kNoCell}, {});
  EXPECT_EQ(made.failed, (std::vector<std::uint8_t>{0, 0}));
  EXPECT_EQ(reinterpret_cast<const std::int16_t*>(made.pixels(1))[3], 10);
}

TEST(JungfrauCells, gains_may_be_one_set_for_all_cells) {
  Sets sets = joined({simple(Output::photons), simple(Output::photons)});
  sets.all.calibration.gain.resize(std::size_t{3} * 64);
  sets.all.calibration.pedestal[3 * 64 + 7] = 200;  // of cell 0, G0
  sets.each[1].calibration.pedestal[7] = 200;
  expect_as_references(sets, Words(2, std::vector<std::uint16_t>(64, 300)), {0, 5}, {});
}

std::string text_of(const Config& config) {
  try {
    static_cast<void>(step_of(config)->fit({64, 1}, {PixelType::u16, Masked::maximum}));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(JungfrauCells, wrong_sets_are_refused_with_the_cell) {
  const Sets sets = joined({simple(Output::photons), simple(Output::photons)});
  EXPECT_EQ(text_of(sets.all), "accepted");
  Config config = sets.all;
  config.cells = {0, 16};
  EXPECT_EQ(text_of(config), "calibration.cells: there is no storage cell 16; take 0 … 15");
  config.cells = {3, 3};
  EXPECT_EQ(text_of(config), "calibration.cells: storage cell 3 has two sets; name each cell once");
  config.cells = {3, 4, 5};
  EXPECT_EQ(text_of(config), "calibration.pedestal: 384 values for 3 storage cells of 3 × 1 × 64 pixels; give 576");
  config = sets.all;
  config.calibration.rms.assign(65, 1.0F);
  EXPECT_EQ(text_of(config), "calibration.rms: 65 values for 2 storage cells of 1 × 64 pixels; give 128");
  config = sets.all;
  config.tracking.from = Tracking::From::every;
  EXPECT_EQ(text_of(config),
            "kernel jungfrau: track: pedestals of storage cells follow from stack to stack; set track = \"darks\" or "
            "\"empty\"");
}

/// The pedestals of one set, moved by the plain reference.
struct Moved {
  explicit Moved(const Config& config) : now(config), running(config.calibration.mask.size()) {
    for (std::size_t p = 0; p < running.size(); ++p) {
      running[p] = {now.calibration.pedestal[p], now.calibration.rms[p] * now.calibration.rms[p]};
    }
  }
  /// Follows the images of a stack.
  void follow_stack(const Words& words, const std::vector<std::uint8_t>& dark) {
    const float inverse = 1.0F / static_cast<float>(now.tracking.images);
    const auto sigma = static_cast<float>(now.tracking.sigma);
    bool empty = now.tracking.from == Tracking::From::empty;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (dark[i] == 0 && !empty) continue;
      if (dark[i] == 0) empty = false;  // one image of the cell a stack
      for (std::size_t p = 0; p < running.size(); ++p) {
        if (words[i][p] > 0x3FFF || now.calibration.mask[p] != 0) continue;
        const Running next = follow(running[p], words[i][p], inverse);
        const float far = static_cast<float>(words[i][p]) - running[p].pedestal;
        if (dark[i] != 0) running[p] = next;
        if (dark[i] == 0 && far * far <= sigma * sigma * running[p].variance) running[p].pedestal = next.pedestal;
        now.calibration.pedestal[p] = running[p].pedestal;
      }
    }
  }
  Config now;
  std::vector<Running> running;
};

/// Stacks of images of storage cells that drift, some of them dark. Cell 7 has no set; the third stack lacks cell 15.
struct Drifting {
  static constexpr std::size_t kStack = 6, kStacks = 7;
  Drifting(std::uint32_t width, Output output, Tracking::From from) {
    std::vector<Config> each;
    for (std::size_t set = 0; set < kNamed.size(); ++set) {
      Config config = synthetic::config(width, 13, output, 40 + set, 0.02);
      config.calibration.rms.assign(config.calibration.mask.size(), 20.0F + 3.0F * static_cast<float>(set));
      config.tracking = {from, 8, 3.0, 0.0};
      each.push_back(config);
    }
    sets = joined(std::move(each));
    for (const std::size_t set : {1U, 2U}) {
      const std::vector<float>& more = sets.each[set].calibration.rms;
      sets.all.calibration.rms.insert(sets.all.calibration.rms.end(), more.begin(), more.end());
    }
    synthetic::Random random(width);
    for (std::size_t stack = 0; stack < kStacks; ++stack) {
      for (std::size_t i = 0; i < kStack; ++i) {
        const std::size_t set = random.below(stack == 2 ? 2 : 3);
        const bool known = random.below(8) != 0;
        cells[stack].push_back(known ? static_cast<std::uint8_t>(kNamed[set]) : 7);
        dark[stack].push_back(random.below(3) == 0 ? 1 : 0);
        std::vector<std::uint16_t> image(sets.all.calibration.mask.size());
        const double drift = 8.0 * static_cast<double>(stack * (set + 1));
        for (std::size_t p = 0; p < image.size(); ++p) {
          image[p] = synthetic::word_of(0, sets.each[set], p, drift + 20 * random.normal());
          if (random.below(50) == 0) image[p] = static_cast<std::uint16_t>(random.next());
        }
        words[stack].push_back(std::move(image));
      }
    }
  }
  Sets sets;
  std::array<Words, kStacks> words;
  std::array<std::vector<std::uint8_t>, kStacks> cells, dark;
};

/// The images of one cell in a stack.
struct OfCell {
  OfCell(const Drifting& all, std::size_t stack, std::uint32_t cell) {
    for (std::size_t i = 0; i < Drifting::kStack; ++i) {
      if (all.cells[stack][i] != cell) continue;
      place.push_back(i);
      words.push_back(all.words[stack][i]);
      dark.push_back(all.dark[stack][i]);
    }
  }
  std::vector<std::size_t> place;
  Words words;
  std::vector<std::uint8_t> dark;
};

/// Every image as the reference makes it with the pedestals that earlier stacks have left to its cell, and the drift as
/// of a pass that gets this cell alone. `only_learned`: dark images are not converted.
void expect_as_moved(const Drifting& all, bool only_learned) {
  const std::size_t pixels = all.sets.all.calibration.mask.size();
  const std::size_t pixel_bytes = all.sets.all.output == Output::kev ? 4 : 2;
  Setup setup = setup_of(all.sets.all, Drifting::kStack);
  setup.only_learned = only_learned;
  const auto pass = step_of(all.sets.all)->on_cpu(setup);
  std::vector<std::unique_ptr<CpuPass>> alone;
  std::vector<Moved> moved;
  for (const Config& one : all.sets.each) {
    alone.push_back(step_of(one)->on_cpu(setup));
    moved.emplace_back(one);
  }
  for (std::size_t stack = 0; stack < Drifting::kStacks; ++stack) {
    const Made made = play(*pass, all.words[stack], all.cells[stack], pixel_bytes, all.dark[stack].data());
    for (std::size_t set = 0; set < kNamed.size(); ++set) {
      const OfCell some(all, stack, kNamed[set]);
      if (some.words.empty()) continue;
      const Made same =
          play(*alone[set], some.words, std::vector<std::uint8_t>(some.words.size()), pixel_bytes, some.dark.data());
      for (std::size_t i = 0; i < some.words.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "stack " << stack << " image " << some.place[i] << " set " << set);
        const std::size_t place = some.place[i];
        std::vector<std::byte> truth(pixels * pixel_bytes, std::byte{0xEE});
        const std::uint16_t* raw = some.words[i].data();
        void* out = truth.data();
        Counts counts;
        if (!only_learned || some.dark[i] == 0) {
          convert_reference(moved[set].now, {1, &raw, &out, nullptr, &counts}, {}, 0, pixels);
        }
        ASSERT_EQ(std::memcmp(made.pixels(place), truth.data(), truth.size()), 0);
        EXPECT_EQ(made.scalars[place][0].count(), counts.masked);
        EXPECT_EQ(made.scalars[place], same.scalars[i]);
        EXPECT_EQ(made.failed[place], 0);
      }
      moved[set].follow_stack(some.words, some.dark);
    }
    for (std::size_t i = 0; i < Drifting::kStack; ++i) {
      EXPECT_EQ(made.failed[i] != 0, all.cells[stack][i] == 7);
      EXPECT_TRUE(made.failed[i] == 0 || *made.pixels(i) == std::byte{0xEE});
    }
  }
  EXPECT_NE(moved[0].now.calibration.pedestal, all.sets.each[0].calibration.pedestal);
}

TEST(JungfrauCells, pedestals_of_each_cell_follow_the_images_of_that_cell_alone) {
  for (const auto from : {Tracking::From::darks, Tracking::From::empty}) {
    for (const std::uint32_t width : {64U, 65U, 131U}) {
      const Drifting all(width, width == 65 ? Output::kev : Output::photons, from);
      SCOPED_TRACE(testing::Message() << width << (from == Tracking::From::darks ? " darks" : " empty"));
      on_every_target([&] {
        for (const bool only_learned : {false, true}) expect_as_moved(all, only_learned);
      });
    }
  }
}

TEST(JungfrauCells, one_rms_serves_all_cells) {
  Drifting all(64, Output::photons, Tracking::From::darks);
  all.sets.all.calibration.rms.resize(all.sets.all.calibration.mask.size());
  for (Config& one : all.sets.each) one.calibration.rms = all.sets.all.calibration.rms;
  expect_as_moved(all, false);
}

TEST(JungfrauCells, units_without_a_version_for_cells_refuse_them) {
  const Sets sets = joined({simple(Output::photons), simple(Output::photons)});
  try {
    static_cast<void>(step_of(sets.all)->on_fpga());
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "unit: unit fpga has no version of the kernel jungfrau for calibrations by storage cell; use unit cpu");
  }
}

}  // namespace
}  // namespace rashpa::kernel::jungfrau
