#include "rashpa/kernel/outside/plugin.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/registry.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::kernel::outside {
namespace {

namespace fs = std::filesystem;
using unit::StackRing;

const fs::path kPlugins = RASHPA_PLUGINS;

/// What test_plugin is for as long as this lives.
struct As {
  explicit As(const std::string& how) { ::setenv("RASHPA_TEST_PLUGIN", how.c_str(), 1); }
  ~As() { ::unsetenv("RASHPA_TEST_PLUGIN"); }
};

template <typename Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal_of(const fs::path& file) {
  return refusal([&] { load_plugin(file); });
}

std::shared_ptr<const Step> step_of(const NamedValues& values) {
  return load_plugin(kPlugins / "test_plugin.so")->make(values, {});
}

/// Four images of 4 × 2 pixels; the first pixel of each is its number, the others follow.
struct StackRun {
  explicit StackRun(const std::vector<StepOf>& steps, unsigned threads = 1)
      : ring(4, 2, 4, 1, memory::MemoryKind::pageable) {
    for (std::uint16_t i = 0; i < 4; ++i) {
      auto* pixels = reinterpret_cast<std::uint16_t*>(ring.all[0].images[i].raw);
      for (std::uint16_t p = 0; p < 8; ++p) pixels[p] = static_cast<std::uint16_t>(i + p);
    }
    unit = unit::make_unit({.placement = {threads, -1}}, {steps}, ring.layout, bell);
    unit->submit(&ring.all[0]);
    while (unit->take() == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
  }
  [[nodiscard]] const StackImage& image(std::size_t i) const { return ring.all[0].images[i]; }
  StackRing ring;
  Doorbell bell;
  std::unique_ptr<unit::Unit> unit;
};

TEST(Plugin, finds_numbers_reasons_and_rows_on_any_number_of_threads) {
  for (const unsigned threads : {1U, 3U}) {
    const StackRun run({step_of({{"rows", std::int64_t{10}}, {"factor", std::int64_t{5}}})}, threads);
    const unit::Output& output = run.unit->output();
    ASSERT_EQ(output.results.columns.size(), 1U);
    EXPECT_EQ(output.results.columns[0].name, "first_times");
    ASSERT_EQ(output.results.tables.size(), 1U);
    EXPECT_EQ(output.results.tables[0].name, "test_plugin");
    EXPECT_EQ(output.results.tables[0].capacity, 10U);
    EXPECT_EQ(output.results.tables[0].columns.at(1).name, "half");
    for (std::size_t i = 0; i < 4; ++i) {
      const StackImage& image = run.image(i);
      EXPECT_EQ(image.scalars[0].count(), 5 * i);
      EXPECT_EQ(image.decision, i % 2 == 0 ? Decision::accepted : Decision::vetoed);
      if (i % 2 == 1) {
        EXPECT_EQ(output.results.reasons.names()[static_cast<std::size_t>(image.reason)], "odd");
        continue;
      }
      ASSERT_EQ(image.tables[0].rows, i % 3);
      for (std::uint32_t row = 0; row < image.tables[0].rows; ++row) {
        EXPECT_EQ(image.tables[0].values[2 * row].count(), row);
        EXPECT_EQ(image.tables[0].values[2 * row + 1].real(), 0.5 * static_cast<double>(i + row));
      }
    }
    EXPECT_NE(run.unit->how().find("test_plugin (plugin test_plugin.so)"), std::string::npos) << run.unit->how();
  }
}

TEST(Plugin, image_that_it_fails_on_is_errored_and_its_neighbours_are_not) {
  const std::map<std::string, std::string> words{
      {"throws", "kernel test_plugin: threw: odd image"},
      {"throws_a_number", "kernel test_plugin: threw something"},
      {"fails", "kernel test_plugin: an odd image"},
      {"fails_silently", "kernel test_plugin: process gave -1"},
      {"verdict", "kernel test_plugin: its verdict is 9, and it declares 2 reasons"},
      {"rows", "kernel test_plugin: 15 rows are found in the image, and its table holds 10; set a larger rows"}};
  for (const auto& [how, why] : words) {
    SCOPED_TRACE(how);
    const As as(how);
    const StackRun run({step_of({{"rows", std::int64_t{10}}})}, 2);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(run.image(i).decision, i % 2 == 0 ? Decision::accepted : Decision::errored);
      EXPECT_EQ(run.image(i).failed_in, i % 2);
      EXPECT_EQ(run.image(i).tables[0].rows, i % 2 == 0 ? i % 3 : 0);
    }
    EXPECT_EQ(run.unit->failure(1), why);
    EXPECT_EQ(run.unit->failure(0), "");
  }
}

TEST(Plugin, parameters_are_checked_as_those_of_every_kernel) {
  const auto refused = [](const NamedValues& values) { return refusal([&] { step_of(values); }); };
  EXPECT_EQ(refused({}), "kernel test_plugin: rows: is needed and not there");
  EXPECT_EQ(refused({{"rows", std::int64_t{0}}}), "kernel test_plugin: rows: 0 is not an integer from 1 up to 1000");
  EXPECT_EQ(refused({{"rows", 2.5}}), "kernel test_plugin: rows: 2.5 is not an integer from 1 up to 1000");
  EXPECT_EQ(refused({{"rows", std::int64_t{1}}, {"colour", true}}),
            "kernel test_plugin: colour: no such parameter; known: factor, rows, part, strict");
  EXPECT_EQ(refused({{"rows", std::int64_t{1}}, {"part", 1.5}}),
            "kernel test_plugin: part: 1.5 is not a number from 0 up to 1");
}

TEST(Plugin, what_cannot_be_made_for_the_images_says_why) {
  const auto refused = [](const std::string& how) {
    const As as(how);
    return refusal([] { StackRun({step_of({{"rows", std::int64_t{1}}})}); });
  };
  EXPECT_EQ(refused("create_refuses"), "plugin test_plugin.so: images must be square");
  EXPECT_EQ(refused("create_silent"), "plugin test_plugin.so: create gives no state");
  EXPECT_EQ(refused("create_throws"), "plugin test_plugin.so: create threw an exception");
}

TEST(Plugin, pixels_that_it_does_not_take_are_refused) {
  Doorbell bell;
  const StackRing ring(4, 2, 4, 1, memory::MemoryKind::pageable, PixelType::i32);
  const auto step = step_of({{"rows", std::int64_t{1}}});
  EXPECT_EQ(
      refusal([&] { unit::make_unit({}, {{step}}, ring.layout, bell); }),
      "unit: test_plugin needs uint16 pixels, the buffer has int32; set the buffer's pixel, or put a kernel before "
      "it that makes them");
}

TEST(Plugin, files_that_are_none_are_refused) {
  const fs::path folder = fs::temp_directory_path() / ("plugin_test_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "text.so") << "no ELF at all, but long enough for a header of one ................";
  EXPECT_NE(refusal_of(folder / "text.so").find("plugin text.so: cannot be loaded: "), std::string::npos);
  EXPECT_NE(refusal_of(folder / "missing.so").find("plugin missing.so: cannot be loaded: "), std::string::npos);
  fs::remove_all(folder);
  EXPECT_EQ(refusal_of(kPlugins / "no_plugin.so"),
            "plugin no_plugin.so: does not export rashpa_plugin_describe; is it a kernel for rashpa "
            "(src/rashpa/kernel/outside/rashpa_plugin.h)?");
}

TEST(Plugin, what_it_declares_is_checked_before_it_is_used) {
  const std::vector<std::tuple<std::string, std::string>> cases{
      {"abi", "is made for version 7 of the interface, this program has version 1"},
      {"bytes", "says that its description has 8 bytes"},
      {"describes_nothing", "rashpa_plugin_describe gives nothing"},
      {"describe_throws", "rashpa_plugin_describe threw an exception"},
      {"no_name", "its name must be a small letter"},
      {"bad_name", "its name must be a small letter"},
      {"bad_purpose", "its purpose must be printable ASCII"},
      {"takes_nothing", "it takes no type of pixels"},
      {"takes_unknown", "it takes no type of pixels"},
      {"no_create", "lacks one of the functions"},
      {"no_process", "lacks one of the functions"},
      {"no_destroy", "lacks one of the functions"},
      {"many_scalars", "declares 1073741824 scalars, 256 at most"},
      {"null_scalars", "declares 1 scalars and has none"},
      {"null_reasons", "declares 2 reasons and has none"},
      {"null_reason", "the name of a reason must be"},
      {"same_reason", "the reason odd is there twice"},
      {"bad_column", "the name of a column must be"},
      {"bad_type", "column 9"},
      {"bad_kind", "parameter factor is of kind 5, which is none"},
      {"bad_bounds", "of parameter factor the least is more than the most"},
      {"bad_default", "default: factor: 1000 is not an integer from 1 up to 100"},
      {"same_parameter", "the parameter factor is there twice"},
      {"no_rows", "its table needs an integer parameter"},
      {"rows_unbounded", "its table needs an integer parameter"},
      {"rows_none", "its table needs an integer parameter"},
      {"makes_nothing", "it makes nothing"},
      {"old_name", "csr is the name of a kernel of this program"}};
  for (const auto& [how, why] : cases) {
    const As as(how);
    const std::string text = refusal([] { check_new_name(load_plugin(kPlugins / "test_plugin.so")->declaration()); });
    EXPECT_EQ(text.rfind("plugin test_plugin.so: ", 0), 0U) << how << ": " << text;
    EXPECT_NE(text.find(how == "bad_type" ? "is of no known type" : why), std::string::npos) << how << ": " << text;
  }
}

/// A maximum is larger than its neighbours before it and not smaller than those behind it.
std::vector<std::vector<std::uint64_t>> maxima_of(const std::vector<std::uint16_t>& image, int width, int height,
                                                  int threshold) {
  std::vector<std::vector<std::uint64_t>> found;
  const auto at = [&](int x, int y) -> int {
    if (x < 0 || y < 0 || x >= width || y >= height) return -1;
    const int value = image[static_cast<std::size_t>(y * width + x)];
    return value == 65535 ? -1 : value;
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int value = at(x, y);
      bool largest = value >= threshold;
      for (const auto& [dx, dy] : {std::pair{-1, -1}, {0, -1}, {1, -1}, {-1, 0}}) largest &= value > at(x + dx, y + dy);
      for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 1}, {0, 1}, {1, 1}}) largest &= value >= at(x + dx, y + dy);
      if (largest)
        found.push_back(
            {static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y), static_cast<std::uint64_t>(value)});
    }
  }
  return found;
}

TEST(Plugin, the_example_finds_the_maxima_that_its_definition_says) {
  constexpr int kWidth = 61;
  constexpr int kHeight = 37;
  const auto step = load_plugin(kPlugins / "local_maxima.so")->make({{"threshold", std::int64_t{20}}}, {});
  Doorbell bell;
  StackRing ring(kWidth, kHeight, 3, 1, memory::MemoryKind::pageable);
  std::mt19937 random(5);
  for (StackImage& image : ring.all[0].view()) {
    auto* pixels = reinterpret_cast<std::uint16_t*>(image.raw);
    for (int p = 0; p < kWidth * kHeight; ++p) {
      pixels[p] = static_cast<std::uint16_t>(random() % 50 == 0 ? 65535 : random() % 30);
    }
  }
  const auto unit = unit::make_unit({.placement = {2, -1}}, {{step}}, ring.layout, bell);
  unit->submit(&ring.all[0]);
  while (unit->take() == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
  for (const StackImage& image : ring.all[0].view()) {
    const auto* pixels = reinterpret_cast<const std::uint16_t*>(image.raw);
    const auto wanted = maxima_of({pixels, pixels + kWidth * kHeight}, kWidth, kHeight, 20);
    ASSERT_GT(wanted.size(), 10U);
    EXPECT_EQ(image.scalars[0].count(), wanted.size());
    ASSERT_EQ(image.tables[0].rows, wanted.size());
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      EXPECT_EQ(image.tables[0].values[3 * row].count(), wanted[row][0]);
      EXPECT_EQ(image.tables[0].values[3 * row + 1].count(), wanted[row][1]);
      EXPECT_EQ(static_cast<std::uint64_t>(image.tables[0].values[3 * row + 2].integer()), wanted[row][2]);
    }
  }
}

}  // namespace
}  // namespace rashpa::kernel::outside
