// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/outside/plugin.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/registry.hpp"

namespace rashpa::kernel::outside {
namespace {

namespace fs = std::filesystem;

const fs::path kPlugins = RASHPA_PLUGINS;

/// Sets the behaviour of test_plugin for the life of this object.
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

/// Images of uint16 pixels, looked at by a step on its own; threads take turns.
struct StackRun {
  struct Image {
    std::vector<std::uint16_t> pixels;
    std::array<Scalar, kMostColumns> scalars{};
    Finding finding{};
  };
  StackRun(const Step& step, Shape shape, std::vector<Image> given, unsigned workers = 1) : images(std::move(given)) {
    const auto count = static_cast<std::uint32_t>(images.size());
    pass = step.on_cpu(
        {.shape = shape, .in = delivered(PixelType::u16), .stack = count, .places = count, .workers = workers});
    EXPECT_EQ(pass->grain(), CpuPass::Grain::image);
    pass->begin(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto* in = reinterpret_cast<const std::byte*>(images[i].pixels.data());
      pass->run(i % workers, {.first = i, .count = 1, .in = &in, .place = &i}, 0, shape.pixels());
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      images[i].finding.scalars = images[i].scalars.data();
      pass->finish(i, images[i].finding);
    }
  }
  std::vector<Image> images;
  std::unique_ptr<CpuPass> pass;
};

/// Four images of 4 × 2 pixels; the first pixel of each is its number, the others follow.
StackRun run_of(const Step& step, unsigned workers = 1) {
  std::vector<StackRun::Image> images(4);
  for (std::uint16_t i = 0; i < 4; ++i) {
    for (std::uint16_t p = 0; p < 8; ++p) images[i].pixels.push_back(static_cast<std::uint16_t>(i + p));
  }
  return {step, {4, 2}, std::move(images), workers};
}

TEST(Plugin, finds_numbers_reasons_and_rows_on_any_number_of_threads) {
  for (const unsigned workers : {1U, 3U}) {
    const auto step = step_of({{"rows", std::int64_t{10}}, {"factor", std::int64_t{5}}});
    const Declaration& declaration = step->declaration();
    EXPECT_EQ(declaration.origin, "plugin test_plugin.so");
    EXPECT_EQ(declaration.made(Port::Kind::scalars)->columns.at(0).name, "first_times");
    EXPECT_EQ(declaration.made(Port::Kind::table)->columns.at(1).name, "half");
    EXPECT_EQ(declaration.made(Port::Kind::verdict)->reasons, (std::vector<std::string>{"odd", "even"}));
    EXPECT_EQ(step->table_capacity(), 10U);
    const StackRun run = run_of(*step, workers);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const StackRun::Image& image = run.images[i];
      EXPECT_EQ(image.scalars[0].count(), 5 * i);
      EXPECT_FALSE(image.finding.failed);
      EXPECT_EQ(image.finding.verdict, i % 2);
      ASSERT_EQ(image.finding.table.rows, i % 3);
      for (std::size_t row = 0; row < image.finding.table.rows; ++row) {
        EXPECT_EQ(image.finding.table.values[2 * row].count(), row);
        EXPECT_EQ(image.finding.table.values[2 * row + 1].real(), 0.5 * static_cast<double>(i + row));
      }
    }
  }
}

TEST(Plugin, profiles_have_the_bins_that_it_declares) {
  auto step = step_of({{"rows", std::int64_t{10}}});
  ASSERT_EQ(step->axes().size(), 1U);
  EXPECT_EQ(step->axes()[0].values, (std::vector<double>{0.5, 1.5, 2.5}));
  EXPECT_EQ(step->axes()[0].unit, "1/nm");
  std::optional<StackRun> run(run_of(*step, 2));
  for (std::uint32_t i = 0; i < 4; ++i) {
    const double* values = run->images[i].finding.profile.values;
    ASSERT_NE(values, nullptr);
    for (std::uint32_t bin = 0; bin < 3; ++bin) {
      EXPECT_EQ(values[bin], i + bin);
      EXPECT_EQ(values[3 + bin], (i + bin) * (i + bin));
    }
  }
  run.reset();  // so that the object is loaded again, as another one
  step.reset();
  for (const auto& [how, why] : {std::pair{"no_bins", "its profile has 0 bins"}, std::pair{"null_bins", "0 bins"},
                                 std::pair{"many_bins", "0 bins"}, std::pair{"nan_bins", "axis bin has values"}}) {
    const As as(how);
    const std::string text = refusal([] { step_of({{"rows", std::int64_t{1}}}); });
    EXPECT_NE(text.find(why), std::string::npos) << how << ": " << text;
  }
}

TEST(Plugin, one_that_was_compiled_before_there_were_profiles_works) {
  const As as("before_profiles");
  const auto step = step_of({{"rows", std::int64_t{10}}});
  EXPECT_EQ(step->declaration().made(Port::Kind::profile), nullptr);
  EXPECT_TRUE(step->axes().empty());
  EXPECT_EQ(run_of(*step).images[3].scalars[0].count(), 6U);
}

TEST(Plugin, image_that_it_fails_on_is_errored_and_its_neighbours_are_not) {
  const std::map<std::string, std::string> words{
      {"throws", "kernel test_plugin: threw: odd image"},
      {"throws_a_number", "kernel test_plugin: threw something"},
      {"fails", "kernel test_plugin: an odd image"},
      {"fails_silently", "kernel test_plugin: process gave -1"},
      {"verdict", "kernel test_plugin: its verdict is 9, and it declares 2 reasons"},
      {"rows", "kernel test_plugin: 15 rows are found in the image, and its table holds 10; set a larger rows"},
      {"large", "kernel test_plugin: first_times is 1099511627776, which is not uint32; declare it as uint64"},
      {"large_row", "kernel test_plugin: place is 34359738368, which is not uint32; declare it as uint64"},
      {"writes",
       "kernel test_plugin: it has written on its pixels, which are read only (row 1, column 2); let it work on a "
       "copy"}};
  for (const auto& [how, why] : words) {
    SCOPED_TRACE(how);
    const As as(how);
    const StackRun run = run_of(*step_of({{"rows", std::int64_t{10}}}), 2);
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(run.images[i].finding.failed, i % 2 == 1);
      EXPECT_EQ(run.images[i].finding.table.rows, i % 2 == 0 ? i % 3 : 0);
    }
    EXPECT_EQ(run.pass->failure(), why);
  }
}

TEST(Plugin, pixels_stay_as_they_are_unless_it_is_trusted) {
  const As as("writes");
  for (const PixelCheck check : {PixelCheck::on, PixelCheck::off}) {
    const auto step = load_plugin(kPlugins / "test_plugin.so", check)->make({{"rows", std::int64_t{10}}}, {});
    const StackRun run = run_of(*step);
    EXPECT_EQ(run.images[1].pixels[6], check == PixelCheck::on ? 7 : 0);
    EXPECT_EQ(run.images[1].finding.failed, check == PixelCheck::on);
    EXPECT_EQ(run.images[2].pixels[6], 8);
    EXPECT_FALSE(run.images[2].finding.failed);
  }
}

TEST(Plugin, arrays_of_a_profile_may_have_capital_letters) {
  const As as("capital");
  const auto step = step_of({{"rows", std::int64_t{10}}});
  EXPECT_EQ(step->declaration().made(Port::Kind::profile)->columns.at(1).name, "I_errors");
}

TEST(Plugin, parameters_are_checked_as_those_of_every_kernel) {
  const auto refused = [](const NamedValues& values) { return refusal([&] { step_of(values); }); };
  EXPECT_EQ(refused({}), "kernel test_plugin: rows: it is needed and not there; give it");
  EXPECT_EQ(refused({{"rows", std::int64_t{0}}}), "kernel test_plugin: rows: 0 is not an integer from 1 up to 1000");
  EXPECT_EQ(refused({{"rows", 2.5}}), "kernel test_plugin: rows: 2.5 is not an integer from 1 up to 1000");
  EXPECT_EQ(refused({{"rows", std::int64_t{1}}, {"colour", true}}),
            "kernel test_plugin: colour: there is no such parameter; choose one of factor, rows, part, strict");
  EXPECT_EQ(refused({{"rows", std::int64_t{1}}, {"part", 1.5}}),
            "kernel test_plugin: part: 1.5 is not a number from 0 up to 1");
}

TEST(Plugin, what_cannot_be_made_for_the_images_says_why) {
  const auto refused = [](const std::string& how) {
    const As as(how);
    return refusal([] { run_of(*step_of({{"rows", std::int64_t{1}}})); });
  };
  EXPECT_EQ(refused("create_refuses"), "plugin test_plugin.so: images must be square");
  EXPECT_EQ(refused("create_silent"),
            "plugin test_plugin.so: create returned neither a state nor a reason; return one of them");
  EXPECT_EQ(refused("create_throws"), "plugin test_plugin.so: create threw an exception; return a reason in its place");
}

TEST(Plugin, files_that_are_none_are_refused) {
  const fs::path folder = fs::temp_directory_path() / ("plugin_test_" + std::to_string(::getpid()));
  fs::remove_all(folder);  // of a killed process that had the same number
  fs::create_directories(folder);
  std::ofstream(folder / "text.so") << "no ELF at all, but long enough for a header of one ................";
  EXPECT_NE(refusal_of(folder / "text.so").find("plugin text.so: cannot be loaded: "), std::string::npos);
  EXPECT_NE(refusal_of(folder / "missing.so").find("plugin missing.so: cannot be loaded: "), std::string::npos);
  fs::remove_all(folder);
  EXPECT_EQ(refusal_of(kPlugins / "no_plugin.so"),
            "plugin no_plugin.so: does not export rashpa_plugin_describe; give a kernel for rashpa "
            "(src/rashpa/kernel/outside/rashpa_plugin.h)");
}

TEST(Plugin, what_it_declares_is_checked_before_it_is_used) {
  const std::vector<std::tuple<std::string, std::string>> cases{
      {"abi", "is made for version 7 of the interface, this program has version 1"},
      {"bytes", "says that its description has 8 bytes"},
      {"describes_nothing", "rashpa_plugin_describe returns no description"},
      {"describe_throws", "rashpa_plugin_describe threw an exception"},
      {"no_name", "its name must be a small letter"},
      {"bad_name", "its name must be a small letter"},
      {"bad_purpose", "its purpose must be printable ASCII"},
      {"takes_nothing", "it takes no type of pixels"},
      {"takes_unknown", "it takes no type of pixels"},
      {"no_create", "lacks one of the functions"},
      {"no_process", "lacks one of the functions"},
      {"no_destroy", "lacks one of the functions"},
      {"many_scalars", "declares 1073741824 scalars; declare 256 at most"},
      {"null_scalars", "declares 1 scalars and has none"},
      {"null_reasons", "declares 2 reasons and has none"},
      {"null_reason", "the name of a reason must be"},
      {"same_reason", "the reason odd is there twice"},
      {"bad_column", "the name of a column must be"},
      {"bad_type", "column 9"},
      {"bad_kind", "parameter factor is of an unknown kind 5"},
      {"bad_bounds", "of parameter factor the least is more than the most"},
      {"bad_default", "default: factor: 1000 is not an integer from 1 up to 100"},
      {"same_parameter", "the parameter factor is there twice"},
      {"no_rows", "its table needs an integer parameter"},
      {"rows_unbounded", "its table needs an integer parameter"},
      {"rows_none", "its table needs an integer parameter"},
      {"makes_nothing", "it makes nothing"},
      {"integer_profile", "array square of its profile is not float64"},
      {"no_axis", "its profile needs one axis or two"},
      {"three_axes", "its profile has no axis, or more than two; declare one or two"},
      {"axis_is_array", "an array and an axis are both called count"},
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
    const int value =
        image[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
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
  std::vector<StackRun::Image> images(3);
  std::mt19937 random(5);
  for (StackRun::Image& image : images) {
    for (int p = 0; p < kWidth * kHeight; ++p) {
      image.pixels.push_back(static_cast<std::uint16_t>(random() % 50 == 0 ? 65535 : random() % 30));
    }
  }
  const StackRun run(*step, {kWidth, kHeight}, std::move(images), 2);
  for (const StackRun::Image& image : run.images) {
    const auto wanted = maxima_of(image.pixels, kWidth, kHeight, 20);
    ASSERT_GT(wanted.size(), 10U);
    EXPECT_EQ(image.scalars[0].count(), wanted.size());
    const TableView& table = image.finding.table;
    ASSERT_EQ(table.rows, wanted.size());
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      EXPECT_EQ(table.values[3 * row].count(), wanted[row][0]);
      EXPECT_EQ(table.values[3 * row + 1].count(), wanted[row][1]);
      EXPECT_EQ(static_cast<std::uint64_t>(table.values[3 * row + 2].integer()), wanted[row][2]);
    }
  }
}

}  // namespace
}  // namespace rashpa::kernel::outside
