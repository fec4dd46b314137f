// SPDX-License-Identifier: Apache-2.0
/// The facts of a run that its master has beside the images.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/core/time/iso_time.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
#include "rashpa/sink/testing/read_entry.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kWidth = 16, kHeight = 8;

/// The text that an attribute of an object has; nothing where there is none.
std::string text_of(const std::string& file, const std::string& path, const std::string& name) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  std::string text;
  if (H5Aexists_by_name(f, path.c_str(), name.c_str(), H5P_DEFAULT) > 0) {
    const hid_t attribute = H5Aopen_by_name(f, path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = H5Aget_type(attribute);
    if (H5Tis_variable_str(type) > 0) {
      char* words = nullptr;
      EXPECT_GE(H5Aread(attribute, type, static_cast<void*>(&words)), 0) << name;
      text = words == nullptr ? "" : words;
      H5free_memory(words);
    } else {
      text.resize(H5Tget_size(type));
      EXPECT_GE(H5Aread(attribute, type, text.data()), 0) << name;
      text.resize(std::strlen(text.c_str()));
    }
    H5Tclose(type);
    H5Aclose(attribute);
  }
  H5Fclose(f);
  return text;
}

/// The text of a dataset; nothing where there is none.
std::string words_of(const std::string& file, const std::string& path) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  std::string text;
  if (H5Lexists(f, path.c_str(), H5P_DEFAULT) > 0) {
    const hid_t set = H5Dopen2(f, path.c_str(), H5P_DEFAULT);
    const hid_t type = H5Dget_type(set);
    if (H5Tis_variable_str(type) > 0) {
      char* words = nullptr;
      EXPECT_GE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, static_cast<void*>(&words)), 0) << path;
      text = words == nullptr ? "" : words;
      H5free_memory(words);
    } else {
      text.resize(H5Tget_size(type));
      EXPECT_GE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), 0) << path;
      text.resize(std::strlen(text.c_str()));
    }
    H5Tclose(type);
    H5Dclose(set);
  }
  H5Fclose(f);
  return text;
}

/// A folder that goes with the test, and the request of nine images into it.
struct Fixture {
  Fixture() {
    fs::remove_all(folder);  // of a killed process that had the same number
    fs::create_directories(folder);
  }
  ~Fixture() { fs::remove_all(folder); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  [[nodiscard]] Hdf5Config config() const {
    Hdf5Config out;
    out.prefix = (folder / "run").string();
    out.images_per_file = 4;
    out.width = kWidth;
    out.height = kHeight;
    out.buffer = "full";
    out.images = 9;
    return out;
  }
  /// Images `from` … `to` − 1, of which 2 and 4 are vetoed.
  void put(Sink& sink, std::uint64_t from, std::uint64_t to) {
    Stack stack;
    for (std::uint64_t n = from; n < to; ++n) {
      StackImage& image = stack.images.emplace_back();
      image.index = image.frame_number = n;
      image.completeness = Completeness::complete;
      image.decision = n == 2 || n == 4 ? Decision::vetoed : Decision::accepted;
      image.pixels = reinterpret_cast<const std::byte*>(pixels.data());
    }
    stack.count = static_cast<std::uint32_t>(to - from);
    results.assign(to - from, ErrorReason::none);
    sink.put(stack, results);
  }
  fs::path folder = fs::temp_directory_path() / ("rashpa-master-" + std::to_string(getpid()));
  std::vector<std::uint16_t> pixels = std::vector<std::uint16_t>(std::size_t{kWidth} * kHeight);
  std::vector<ErrorReason> results;
};

/// Lets nothing more be written to the journal that this process has open in a folder.
void spoil_journal(const fs::path& folder) {
  int found = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string name = fs::read_symlink(entry.path(), gone).string();
    if (gone || !name.starts_with(folder.string()) || name.find(".journal") == std::string::npos) continue;
    const int refusing = ::open("/dev/null", O_RDONLY);
    ::dup2(refusing, std::stoi(entry.path().filename().string()));
    ::close(refusing);
    ++found;
  }
  EXPECT_EQ(found, 1);
}

TEST(Master, has_the_books_as_they_are_also_where_they_do_not_balance) {
  Fixture run;
  Hdf5Sink sink(run.config());
  run.put(sink, 0, 9);
  sink.close({.expected = 90,
              .complete = 50,
              .partial = 31,
              .missing = 8,
              .accepted = 41,
              .vetoed = 22,
              .errored = 13,
              .written = 7});
  const std::string master = (run.folder / "run_master.h5").string();
  const std::vector<std::pair<std::string, std::uint64_t>> books = {
      {"expected", 90}, {"complete", 50}, {"partial", 31}, {"missing", 8}, {"accepted", 41},
      {"vetoed", 22},   {"errored", 13},  {"written", 7},  {"unknown", 0}, {"balanced", 0}};
  for (const auto& [name, value] : books) {
    EXPECT_EQ(read<std::uint64_t>(master, "/entry/rashpa/books/" + name, H5T_NATIVE_UINT64),
              std::vector<std::uint64_t>{value})
        << name;
  }
  const std::string at = "/entry/rashpa";
  EXPECT_EQ(text_of(master, at + "/stored_file", "description"),
            "Number of the data file that holds the image, 0 when not stored");
  EXPECT_EQ(text_of(master, at + "/stored_place", "description"), "Which image of that file, from 0");
  EXPECT_EQ(text_of(master, at + "/stored_index", "description"), "Place in /entry/data, -1 when not stored");
  EXPECT_EQ(read<std::int64_t>(master, at + "/stored_index", H5T_NATIVE_INT64),
            (std::vector<std::int64_t>{0, 1, -1, 2, -1, 3, 4, 5, 6}));
}

TEST(Master, a_journal_that_cannot_be_written_is_said_and_costs_no_image) {
  Fixture run;
  Hdf5Sink sink(run.config());
  run.put(sink, 0, 3);
  EXPECT_EQ(sink.error(), "");
  spoil_journal(run.folder);
  run.put(sink, 3, 6);
  EXPECT_EQ(sink.error(), "hdf5 sink: the journal of the tables cannot be written");
  EXPECT_EQ(run.results, std::vector<ErrorReason>(3, ErrorReason::none));
  EXPECT_EQ(sink.stats().images_written, 4U);
  EXPECT_TRUE(sink.settle().empty());
  sink.close({.expected = 6, .complete = 6, .accepted = 4, .vetoed = 2, .written = 4});
  EXPECT_EQ(
      read<std::uint64_t>((run.folder / "run_master.h5").string(), "/entry/rashpa/books/written", H5T_NATIVE_UINT64),
      std::vector<std::uint64_t>{4});
}

TEST(Master, a_journal_that_does_not_reach_the_disk_is_said_at_the_end) {
  Fixture run;
  Hdf5Sink sink(run.config());
  run.put(sink, 0, 9);
  spoil_journal(run.folder);
  EXPECT_EQ(sink.error(), "");
  EXPECT_TRUE(sink.settle().empty());
  EXPECT_EQ(sink.error(), "hdf5 sink: the journal of the tables cannot be written");
}

TEST(Master, says_how_its_images_were_made) {
  Fixture run;
  const std::string master = (run.folder / "run_master.h5").string();
  Hdf5Config configuration = run.config();
  NxmxMetadata& said = configuration.metadata;
  const std::vector<std::pair<std::string, std::string NxmxMetadata::*>> facts = {
      {"receiver", &NxmxMetadata::receiver}, {"software_version", &NxmxMetadata::software_version},
      {"proof", &NxmxMetadata::proof},       {"run_name", &NxmxMetadata::run_name},
      {"run_file", &NxmxMetadata::run_file}, {"run_file_sha256", &NxmxMetadata::run_file_sha256},
      {"run_id", &NxmxMetadata::run_id},     {"pixel_units", &NxmxMetadata::pixel_units}};
  for (const auto& [name, field] : facts) said.*field = "the " + name;
  said.dtps = {{.id = 3, .module = 5, .x = 1, .y = 2, .width = 30, .height = 10, .line_rows = {0, 4, 6}},
               {.id = 4,
                .module = 6,
                .x = 31,
                .y = 12,
                .width = 20,
                .height = 11,
                .orientation = {.turn = 90, .flip = true},
                .line_rows = {7}}};
  said.calibration = {{.kind = "pedestal_0", .file = "pedestal.h5", .sha256 = "abc"},
                      {.kind = "gain", .file = "gain.h5", .sha256 = "def"}};
  said.calibration[0].version = "3";
  said.calibration[0].date = "2026-01-02";
  said.calibration[0].source = "run 7";
  said.kernels = {{"photons", {{"gain", "2.5"}}, {}}, {"veto", {}, {"too_few"}}};
  Hdf5Sink sink(configuration);
  run.put(sink, 0, 9);
  sink.close({.expected = 9, .complete = 9, .accepted = 7, .vetoed = 2, .written = 7});
  const std::string at = "/entry/rashpa";
  for (const auto& [name, field] : facts) EXPECT_EQ(text_of(master, at, name), "the " + name);
  EXPECT_EQ(text_of(master, at, "buffer"), "full");
  const auto numbers = [&](const std::string& name) {
    return read<std::uint32_t>(master, at + "/" + name, H5T_NATIVE_UINT32);
  };
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(numbers("dtps/id"), (Numbers{3, 4}));
  EXPECT_EQ(numbers("dtps/module"), (Numbers{5, 6}));
  EXPECT_EQ(numbers("dtps/x"), (Numbers{1, 31}));
  EXPECT_EQ(numbers("dtps/y"), (Numbers{2, 12}));
  EXPECT_EQ(numbers("dtps/width"), (Numbers{30, 20}));
  EXPECT_EQ(numbers("dtps/height"), (Numbers{10, 11}));
  EXPECT_EQ(numbers("dtps/turn"), (Numbers{0, 90}));
  EXPECT_EQ(numbers("dtps/flip"), (Numbers{0, 1}));
  EXPECT_EQ(numbers("dtps/line_rows"), (Numbers{0, 4, 6, 7, 0, 0})) << "a row of numbers each, filled up";
  EXPECT_EQ(text_of(master, at + "/pipeline/01_photons", "name"), "photons");
  EXPECT_EQ(text_of(master, at + "/pipeline/01_photons", "parameter_gain"), "2.5");
  EXPECT_EQ(text_of(master, at + "/pipeline/02_veto", "name"), "veto");
  EXPECT_EQ(text_of(master, at + "/pipeline/02_veto", "veto_reasons"), "too_few");
  EXPECT_EQ(text_of(master, at + "/pipeline/01_photons", "veto_reasons"), "");
  EXPECT_EQ(numbers("stored_file"), (Numbers{1, 1, 0, 1, 0, 1, 2, 2, 2})) << "four a file; 2 and 4 are not stored";
  EXPECT_EQ(numbers("stored_place"), (Numbers{0, 1, 0, 2, 0, 3, 0, 1, 2}));
  EXPECT_EQ(text_of(master, at + "/flags", "description"), "Frame record bits: 1 dark, 2 laser, 4 last of run");
  EXPECT_EQ(text_of(master, at + "/timestamp_ns", "units"), "ns");
  EXPECT_EQ(words_of(master, at + "/calibration/pedestal_0/file"), "pedestal.h5");
  EXPECT_EQ(words_of(master, at + "/calibration/pedestal_0/sha256"), "abc");
  EXPECT_EQ(words_of(master, at + "/calibration/pedestal_0/version"), "3");
  EXPECT_EQ(words_of(master, at + "/calibration/pedestal_0/date"), "2026-01-02");
  EXPECT_EQ(words_of(master, at + "/calibration/pedestal_0/source"), "run 7");
  EXPECT_EQ(words_of(master, at + "/calibration/gain/file"), "gain.h5");
  EXPECT_EQ(words_of(master, at + "/calibration/gain/version"), "") << "it is of no store";
  EXPECT_EQ(numbers("books/balanced"), (Numbers{1}));
  EXPECT_EQ(numbers("books/expected"), (Numbers{9}));
  EXPECT_EQ(numbers("books/vetoed"), (Numbers{2}));
}

/// Bytes that a sink has taken beside its journal's rows, for completing the master.
std::uint64_t room_of(const Fixture& run, const Hdf5Config& config) {
  std::uint64_t taken = 0;
  {
    const Hdf5Sink sink(config);
    for (const auto& entry : fs::directory_iterator(run.folder)) {
      if (entry.path().string().find(".journal") != std::string::npos) taken = entry.file_size();
    }
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> bare(std::tmpfile(), &std::fclose);
  const FrameRows rows(fileno(bare.get()),
                       {.images = config.images,
                        .width = config.width,
                        .height = config.height,
                        .pixel = config.pixel,
                        .form = config.form,
                        .results = config.results},
                       {});
  return taken - fs::file_size("/proc/self/fd/" + std::to_string(fileno(bare.get())));
}

TEST(Master, room_is_taken_for_all_that_it_will_have) {
  constexpr std::uint64_t kMaster = (1U << 20U) + 2048;
  Fixture run;
  const Hdf5Config plain = run.config();
  const auto with = [&](const auto& change) {
    Hdf5Config config = plain;
    change(config);
    return room_of(run, config);
  };
  const auto of_images = [&](std::uint64_t images, std::uint32_t images_per_file) {
    return with([&](Hdf5Config& config) {
      config.images = images;
      config.images_per_file = images_per_file;
    });
  };
  const std::uint64_t usual = of_images(9, 4);
  EXPECT_EQ(usual, kMaster + std::uint64_t{9} * (72 + 1 + 512)) << "a file of 2048 bytes for four images";
  EXPECT_EQ(of_images(100, 1000), kMaster + std::uint64_t{100} * (72 + 1 + 2));
  const auto more = [&](const auto& change) { return with(change) - usual; };
  EXPECT_EQ(more([](Hdf5Config& config) { config.metadata.pixel_mask.assign(std::size_t{kWidth} * kHeight, 0); }),
            4 * kWidth * kHeight);
  EXPECT_EQ(more([](Hdf5Config& config) { config.results.columns = {{.name = "a"}, {.name = "b"}}; }), 9 * 2 * 8);
  EXPECT_EQ(more([](Hdf5Config& config) { config.form = ImageForm::sparse; }), 4U << 20U);
  EXPECT_EQ(more([](Hdf5Config& config) {
              config.results.tables = {{"peaks", {{.name = "x"}, {.name = "y"}, {.name = "z"}}, 10},
                                       {"rings", {{.name = "radius"}}, 10}};
            }),
            9 * 2 * 8 + 4 * (2048 + 16384));
  const auto profile = [](const char* name, std::size_t bins, std::size_t arrays) {
    Profile made{.name = name, .arrays = {}, .axes = {{.name = "q", .values = std::vector<double>(bins)}}};
    for (std::size_t n = 0; n < arrays; ++n) {
      made.arrays.push_back({.name = "array" + std::to_string(n), .type = Column::Type::f64});
    }
    return made;
  };
  EXPECT_EQ(more([&](Hdf5Config& config) { config.results.profiles = {profile("a", 100, 2)}; }), 2 * (2048 + 131072));
  EXPECT_EQ(more([&](Hdf5Config& config) {
              config.results.profiles = {profile("a", 20'000, 1), profile("b", 100, 1)};
            }),
            (2048 + 20'000 * 8) + (2048 + 131072));
}

TEST(Master, the_room_is_given_back_at_the_end) {
  Fixture run;
  Hdf5Sink sink(run.config());
  run.put(sink, 0, 9);
  const fs::path journal = run.folder / "run_master.journal";
  EXPECT_GT(fs::file_size(journal), 1U << 20U);
  EXPECT_TRUE(sink.settle().empty());
  EXPECT_LT(fs::file_size(journal), 1U << 14U) << "nine rows";
  sink.close({.expected = 9, .complete = 9, .accepted = 7, .vetoed = 2, .written = 7});
  EXPECT_FALSE(fs::exists(journal));
}

TEST(Master, ends_as_long_after_its_start_as_the_run_lasted) {
  Fixture run;
  const std::int64_t before = now_ns();
  Hdf5Sink sink(run.config());
  run.put(sink, 0, 9);
  sink.close({.expected = 9, .complete = 9, .accepted = 7, .vetoed = 2, .written = 7});
  const auto lasted = static_cast<std::uint64_t>(now_ns() - before);
  const std::string master = (run.folder / "run_master.h5").string();
  const auto start = utc_of_iso(words_of(master, "/entry/start_time"));
  const auto end = utc_of_iso(words_of(master, "/entry/end_time"));
  ASSERT_TRUE(start && end);
  EXPECT_GE(*end + 1'000'000'000, *start);
  EXPECT_LE(*end, *start + lasted + 1'000'000'000) << "texts may have whole seconds";
}

TEST(Master, images_of_a_run_that_cannot_begin_are_errored_and_the_first_reason_stays) {
  Fixture run;
  Hdf5Sink sink(run.config());
  const fs::path master = run.folder / "run_master.h5";
  std::ofstream(master) << "of somebody else";
  run.put(sink, 0, 4);
  using enum ErrorReason;
  EXPECT_EQ(run.results, (std::vector<ErrorReason>{storage, storage, none, storage})) << "the third one is vetoed";
  const std::string reason = sink.error();
  EXPECT_NE(reason.find("run_master.h5 exists"), std::string::npos) << reason;
  EXPECT_EQ(sink.stats().images_written, 0U);
  fs::remove(master);
  run.put(sink, 4, 9);
  EXPECT_EQ(run.results, std::vector<ErrorReason>(5, none)) << "the place is free";
  EXPECT_EQ(sink.stats().images_written, 4U);
  fs::remove(run.folder / "run_data_000001.h5");
  EXPECT_EQ(sink.settle().size(), 4U);
  EXPECT_EQ(sink.error(), reason);
  EXPECT_EQ(sink.stats().images_written, 0U);
  sink.close({.expected = 9, .complete = 9, .vetoed = 2, .errored = 7});
  EXPECT_EQ(read<std::uint8_t>(master, "/entry/rashpa/decision", H5T_NATIVE_UINT8),
            (std::vector<std::uint8_t>{3, 3, 2, 3, 2, 3, 3, 3, 3}));
  EXPECT_EQ(read<std::uint8_t>(master, "/entry/rashpa/error_reason", H5T_NATIVE_UINT8),
            (std::vector<std::uint8_t>{3, 3, 0, 3, 0, 3, 3, 3, 3}));
}

TEST(Master, that_cannot_be_completed_is_an_error_of_its_run_and_keeps_its_journal) {
  Fixture run;
  const fs::path prefix = run.folder / "run";
  Hdf5Sink sink(run.config());
  run.put(sink, 0, 9);
  fs::create_directory(prefix.string() + "_master.h5.completing");
  std::string said;
  try {
    sink.close({});
  } catch (const FileError& failure) {
    said = failure.what();
  }
  EXPECT_TRUE(said.ends_with("the master " + prefix.string() +
                             "_master.h5 is not complete: make room and type rashpa repair " + prefix.string()))
      << said;
  EXPECT_EQ(sink.error(), said);
  EXPECT_TRUE(fs::exists(prefix.string() + "_master.journal"));
}

TEST(Master, images_whose_rows_have_no_room_are_errored_at_once) {
  constexpr std::uint32_t kRows = 4000;
  Fixture run;
  Hdf5Config config = run.config();
  config.results.tables = {{"peaks", {{.name = "x", .type = Column::Type::f64}}, kRows}};
  Hdf5Sink sink(config);
  const std::vector<Scalar> rows(kRows, Scalar::of_real(0.1));
  const auto put = [&](std::uint64_t first, std::uint64_t end) {
    Stack stack;
    for (std::uint64_t n = first; n < end; ++n) {
      StackImage& image = stack.images.emplace_back();
      image.index = image.frame_number = n;
      image.completeness = Completeness::complete;
      image.decision = Decision::accepted;
      image.pixels = reinterpret_cast<const std::byte*>(run.pixels.data());
      image.tables[0] = {rows.data(), kRows};
    }
    stack.count = static_cast<std::uint32_t>(end - first);
    run.results.assign(stack.count, ErrorReason::none);
    sink.put(stack, run.results);
  };
  put(0, 3);
  EXPECT_EQ(run.results, std::vector<ErrorReason>(3, ErrorReason::none)) << sink.error();
  // A limit on the size of files stands for the full disk; the other files are smaller.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = fs::file_size(run.folder / "run_tables.h5") + 1000;
  setrlimit(RLIMIT_FSIZE, &limit);
  put(3, 4);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(run.results, std::vector<ErrorReason>(1, ErrorReason::storage));
  EXPECT_NE(sink.error(), "");
}

}  // namespace
}  // namespace rashpa::sink
