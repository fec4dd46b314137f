// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/nxmx/hdf5_sink.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/fill.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/sink/testing/read_entry.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kWidth = 61, kHeight = 37;  // not a multiple of 8: the verbatim rest is used
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

class Hdf5SinkTest : public testing::Test {
 protected:
  Hdf5Config config(std::uint64_t images) const {
    Hdf5Config out;
    out.prefix = (folder_ / "run").string();
    out.images_per_file = 4;
    out.threads = 2;
    out.width = kWidth;
    out.height = kHeight;
    out.pixel = PixelType::i16;
    out.buffer = "full";
    out.images = images;
    out.metadata.detector_name = "JUNGFRAU";
    out.metadata.energy_kev = 12.4;
    out.metadata.pixel_size_m = 75e-6;
    out.metadata.labels = {"synthetic data"};
    out.metadata.pixel_mask.assign(kPixels, 0);
    out.metadata.pixel_mask[5] = 2;
    out.metadata.dtps = {{3, 0, 0, 0, kWidth, kHeight}};
    out.metadata.calibration = {{"gain", "gain.h5", "abc"}};
    return out;
  }
  std::string master() const { return (folder_ / "run_master.h5").string(); }
  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

/// `images` images in stacks of 5. Of each 7: number 2 is vetoed, 4 is missing, 5 is partial and accepted.
struct Played {
  explicit Played(std::uint64_t images)
      : pixels(images, std::vector<std::int16_t>(kPixels)), lost(images, LostRun{3, 10, 2}) {
    std::mt19937 random(1);
    for (auto& image : pixels) {
      for (auto& pixel : image) pixel = static_cast<std::int16_t>(random() % 8 == 0 ? random() % 300 : 0);
    }
  }
  std::vector<std::vector<std::int16_t>> pixels;
  std::vector<LostRun> lost;
  std::vector<std::uint32_t> index;  // of the sparse form: every pixel with photons
  std::vector<std::int16_t> value;
  Books books;

  StackImage image(std::uint64_t n) {
    StackImage out;
    out.index = n;
    out.frame_number = 100 + 3 * n;
    out.timestamp_ns = 5000 + n;
    out.pixels = reinterpret_cast<const std::byte*>(pixels[n].data());
    out.scalars[0] = Scalar::of_count(n);
    out.completeness = Completeness::complete;
    out.decision = Decision::accepted;
    if (n % 7 == 2) {
      out.decision = Decision::vetoed;
      out.reason = VetoReason::too_few;
    } else if (n % 7 == 4) {
      out.completeness = Completeness::missing;
      out.decision = Decision::none;
    } else if (n % 7 == 5) {
      out.completeness = Completeness::partial;
      out.lost = &lost[n];
      out.lost_count = 1;
    }
    out.measured = out.decision != Decision::none;
    return out;
  }

  void play(Sink& sink) {
    for (std::uint64_t n = 0; n < pixels.size(); n += 5) {
      Stack stack;
      for (std::uint64_t i = n; i < std::min<std::uint64_t>(n + 5, pixels.size()); ++i)
        stack.images.push_back(image(i));
      stack.count = static_cast<std::uint32_t>(stack.images.size());
      put_and_mark(sink, stack);
      for (const StackImage& one : stack.view()) count(one);
    }
    books.written = sink.stats().images_written;
  }
  void count(const StackImage& one) {
    books.expected += 1;
    books.complete += one.completeness == Completeness::complete;
    books.partial += one.completeness == Completeness::partial;
    books.missing += one.completeness == Completeness::missing;
    books.accepted += one.decision == Decision::accepted;
    books.vetoed += one.decision == Decision::vetoed;
    books.errored += one.decision == Decision::errored;
  }
};

TEST_F(Hdf5SinkTest, accepted_images_are_stored_in_order_over_several_files_and_read_back_equal) {
  Played run(23);
  Hdf5Sink sink(config(23));
  run.play(sink);
  sink.close(run.books);
  sink.close(run.books);  // idempotent
  EXPECT_TRUE(sink.error().empty()) << sink.error();
  EXPECT_TRUE(run.books.balanced());
  std::vector<std::int16_t> expected;
  std::vector<std::uint64_t> frames;
  for (std::uint64_t n = 0; n < 23; ++n) {
    if (run.image(n).decision != Decision::accepted) continue;
    expected.insert(expected.end(), run.pixels[n].begin(), run.pixels[n].end());
    frames.push_back(run.image(n).frame_number);
  }
  EXPECT_EQ(sink.stats().images_written, frames.size());
  EXPECT_EQ(read<std::int16_t>(master(), "/entry/data/data", H5T_NATIVE_INT16), expected);
  EXPECT_EQ(read<std::uint64_t>(master(), "/entry/data/frame_number", H5T_NATIVE_UINT64), frames);
  const std::size_t second = 4 * kPixels;
  EXPECT_EQ(read<std::int16_t>(master(), "/entry/rashpa/data_files/data_000002", H5T_NATIVE_INT16),
            std::vector<std::int16_t>(expected.begin() + second, expected.begin() + 2 * second));
}

TEST_F(Hdf5SinkTest, a_run_that_did_not_know_its_length_says_it_at_the_end) {
  Played run(23);
  Hdf5Config open = config(kMostImages);
  open.end = End::told;
  Hdf5Sink sink(open);
  run.play(sink);
  sink.close(run.books);
  EXPECT_TRUE(sink.error().empty()) << sink.error();
  constexpr const char* kSpecific = "/entry/instrument/detector/detectorSpecific/nimages";
  EXPECT_EQ(read<std::uint64_t>(master(), kSpecific, H5T_NATIVE_UINT64), std::vector<std::uint64_t>{23});
  EXPECT_EQ(read<std::uint64_t>(master(), "/entry/data/frame_number", H5T_NATIVE_UINT64).size(),
            sink.stats().images_written);
  const hid_t file = H5Fopen(master().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  EXPECT_GT(H5Lexists(file, "/entry/end_time_estimated", H5P_DEFAULT), 0);
  H5Fclose(file);
}

TEST_F(Hdf5SinkTest, a_run_that_was_ended_early_has_the_images_that_were_due) {
  Played run(23);
  Hdf5Sink sink(config(500));
  run.play(sink);
  sink.close(run.books);
  EXPECT_TRUE(sink.error().empty()) << sink.error();
  constexpr const char* kSpecific = "/entry/instrument/detector/detectorSpecific/nimages";
  EXPECT_EQ(read<std::uint64_t>(master(), kSpecific, H5T_NATIVE_UINT64), std::vector<std::uint64_t>{23});
}

TEST_F(Hdf5SinkTest, images_of_a_dropped_stack_have_rows_that_say_so) {
  Played run(15);
  Hdf5Config configuration = config(15);
  configuration.results.columns = {{.name = "bright_pixels", .unit = "pixels"}};
  Hdf5Sink sink(configuration);
  for (std::uint64_t n = 0; n < 15; n += 5) {
    if (n == 5) {
      std::vector<SkippedImage> skipped;
      for (std::uint64_t i = 5; i < 10; ++i) {
        skipped.push_back({.index = i,
                           .frame_number = run.image(i).frame_number,
                           .completeness = Completeness::complete,
                           .decision = Decision::errored,
                           .error = ErrorReason::dropped});
      }
      sink.skip(skipped);
      continue;
    }
    Stack stack;
    for (std::uint64_t i = n; i < n + 5; ++i) stack.images.push_back(run.image(i));
    stack.count = 5;
    put_and_mark(sink, stack);
  }
  EXPECT_TRUE(sink.settle().empty());
  sink.close({});
  const auto frame = read<std::uint64_t>(master(), "/entry/rashpa/frame_number", H5T_NATIVE_UINT64);
  const auto decision = read<std::uint8_t>(master(), "/entry/rashpa/decision", H5T_NATIVE_UINT8);
  const auto error = read<std::uint8_t>(master(), "/entry/rashpa/error_reason", H5T_NATIVE_UINT8);
  const auto stored = read<std::int64_t>(master(), "/entry/rashpa/stored_index", H5T_NATIVE_INT64);
  const auto bright = read<std::uint32_t>(master(), "/entry/rashpa/bright_pixels", H5T_NATIVE_UINT32);
  ASSERT_EQ(decision.size(), 15U);
  for (std::uint64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(frame[i], run.image(i).frame_number);
    const bool dropped = i >= 5 && i < 10;
    EXPECT_EQ(error[i] == static_cast<std::uint8_t>(ErrorReason::dropped), dropped) << i;
    EXPECT_FALSE(dropped && stored[i] != -1) << i;
    const bool kept = decision[i] == static_cast<std::uint8_t>(Decision::accepted);
    EXPECT_EQ(stored[i] >= 0, kept) << i;
    const bool unseen = dropped || run.image(i).decision == Decision::none;
    EXPECT_EQ(bright[i] == UINT32_MAX, unseen) << i;
  }
}

TEST_F(Hdf5SinkTest, the_tables_have_a_row_for_every_image_stored_or_not) {
  Played run(2100);  // more rows than a chunk of the tables
  Hdf5Config configuration = config(2100);
  configuration.images_per_file = 3000;
  Hdf5Sink sink(configuration);
  run.play(sink);
  sink.close(run.books);
  const auto decision = read<std::uint8_t>(master(), "/entry/rashpa/decision", H5T_NATIVE_UINT8);
  const auto completeness = read<std::uint8_t>(master(), "/entry/rashpa/completeness", H5T_NATIVE_UINT8);
  const auto reason = read<std::uint8_t>(master(), "/entry/rashpa/veto_reason", H5T_NATIVE_UINT8);
  const auto frame = read<std::uint64_t>(master(), "/entry/rashpa/frame_number", H5T_NATIVE_UINT64);
  const auto stored = read<std::int64_t>(master(), "/entry/rashpa/stored_index", H5T_NATIVE_INT64);
  const auto ptr = read<std::uint64_t>(master(), "/entry/rashpa/lost_runs/ptr", H5T_NATIVE_UINT64);
  ASSERT_EQ(decision.size(), 2100U);
  ASSERT_EQ(ptr.size(), 2101U);
  std::int64_t place = 0;
  for (std::size_t n = 0; n < 2100; ++n) {
    const StackImage image = run.image(n);
    ASSERT_EQ(decision[n], static_cast<std::uint8_t>(image.decision));
    ASSERT_EQ(completeness[n], static_cast<std::uint8_t>(image.completeness));
    ASSERT_EQ(reason[n], static_cast<std::uint8_t>(image.reason));
    ASSERT_EQ(frame[n], image.frame_number);
    ASSERT_EQ(stored[n], image.decision == Decision::accepted ? place++ : -1);
    ASSERT_EQ(ptr[n + 1] - ptr[n], image.lost_count);
  }
  EXPECT_EQ(read<std::uint32_t>(master(), "/entry/rashpa/lost_runs/dtp", H5T_NATIVE_UINT32),
            std::vector<std::uint32_t>(300, 3));
  EXPECT_EQ(read<std::uint64_t>(master(), "/entry/rashpa/books/written", H5T_NATIVE_UINT64).at(0),
            sink.stats().images_written);
  EXPECT_EQ(read<std::uint32_t>(master(), "/entry/instrument/detector/pixel_mask", H5T_NATIVE_UINT32).at(5), 2U);
}

TEST_F(Hdf5SinkTest, csr_images_are_stored_by_frame) {
  Played run(3);
  Hdf5Config configuration = config(3);
  configuration.form = ImageForm::sparse;
  Hdf5Sink sink(configuration);
  std::vector<std::uint32_t> index(200'000);
  std::vector<std::int16_t> value(200'000);
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    index[i] = i;
    value[i] = static_cast<std::int16_t>(i % 1000);
  }
  Stack stack;
  stack.count = 3;
  for (std::uint64_t n = 0; n < 3; ++n) {
    stack.images.push_back(run.image(n));
    stack.images.back().sparse = {index.data() + n, value.data() + n, static_cast<std::uint32_t>(150'000 + n)};
  }
  stack.images[1].sparse.count = 0;
  put_and_mark(sink, stack);
  sink.close({});
  EXPECT_EQ(read<std::uint64_t>(master(), "/entry/data/frame_ptr", H5T_NATIVE_UINT64),
            (std::vector<std::uint64_t>{0, 150'000, 150'000}));  // the third image is vetoed
  const auto read_index = read<std::uint32_t>(master(), "/entry/data/index", H5T_NATIVE_UINT32);
  EXPECT_EQ(read_index, std::vector<std::uint32_t>(index.begin(), index.begin() + 150'000));
  EXPECT_EQ(read<std::int16_t>(master(), "/entry/data/intensity", H5T_NATIVE_INT16),
            std::vector<std::int16_t>(value.begin(), value.begin() + 150'000));
  EXPECT_EQ(sink.stats().images_written, 2U);
}

TEST_F(Hdf5SinkTest, a_run_without_any_accepted_image_gives_a_readable_file) {
  Hdf5Sink sink(config(10));
  sink.close({});
  EXPECT_TRUE(read<std::int16_t>(master(), "/entry/data/data", H5T_NATIVE_INT16).empty());
  EXPECT_TRUE(read<std::uint8_t>(master(), "/entry/rashpa/decision", H5T_NATIVE_UINT8).empty());
}

TEST_F(Hdf5SinkTest, float_images_come_back_bit_for_bit) {
  Hdf5Config configuration = config(1);
  configuration.pixel = PixelType::f32;
  Hdf5Sink sink(configuration);
  std::vector<float> pixels(kPixels, 1.5F);
  pixels[3] = std::nanf("");
  Stack stack;
  stack.count = 1;
  stack.images.resize(1);
  stack.images[0].decision = Decision::accepted;
  stack.images[0].pixels = reinterpret_cast<const std::byte*>(pixels.data());
  put_and_mark(sink, stack);
  sink.close({});
  const auto back = read<float>(master(), "/entry/data/data", H5T_NATIVE_FLOAT);
  ASSERT_EQ(back.size(), kPixels);
  // By their bytes: one of them is NaN.
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(back)), std::as_bytes(std::span(pixels))));
}

TEST_F(Hdf5SinkTest, existing_files_and_missing_folders_are_refused_before_anything_is_made) {
  std::ofstream(folder_ / "run_data_000003.h5") << "precious";
  try {
    Hdf5Sink sink(config(9));
    FAIL() << "an existing file was accepted";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("run_data_000003.h5 exists"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(fs::exists(master()));
  Hdf5Config elsewhere = config(1);
  elsewhere.prefix = (folder_ / "absent" / "run").string();
  EXPECT_THROW(Hdf5Sink{elsewhere}, FileError);
  Hdf5Config wrong = config(1);
  wrong.metadata.pixel_mask.resize(7);
  EXPECT_THROW(Hdf5Sink{wrong}, ConfigError);
}

TEST_F(Hdf5SinkTest, a_request_that_no_file_can_hold_is_refused_in_words) {
  const auto refused_as = [&](const std::string& why, auto change) {
    Hdf5Config wanted = config(3);
    wanted.metadata.pixel_mask.clear();
    change(wanted);
    try {
      const Hdf5Sink sink(wanted);
      ADD_FAILURE() << "it is taken: " << why;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused_as("width or height is 0", [](Hdf5Config& wanted) { wanted.width = 0; });
  refused_as("an image of 4 GiB or more", [](Hdf5Config& wanted) {
    wanted.width = 1U << 15U;  // of 2 bytes
    wanted.height = 1U << 16U;
  });
  refused_as("images_per_file is 0", [](Hdf5Config& wanted) { wanted.images_per_file = 0; });
  refused_as("threads is 0", [](Hdf5Config& wanted) { wanted.threads = 0; });
  for (const unsigned many : {0U, 129U}) {
    refused_as("in_flight is not possible; give 1 to 128", [many](Hdf5Config& wanted) {
      wanted.form = ImageForm::raw;
      wanted.raw.in_flight = many;
    });
  }
  refused_as("CSR images cannot hold float32", [](Hdf5Config& wanted) {
    wanted.form = ImageForm::sparse;
    wanted.pixel = PixelType::f32;
  });
  EXPECT_TRUE(fs::is_empty(folder_));
  for (const unsigned many : {1U, 128U}) {
    Hdf5Config most = config(3);
    most.form = ImageForm::raw;
    most.raw.in_flight = many;
    EXPECT_NO_THROW(Hdf5Sink{most});
  }
}

TEST_F(Hdf5SinkTest, images_that_are_gone_at_the_end_are_lost_by_number_and_errored_in_its_books) {
  Played played(12);
  Hdf5Sink sink(config(12));
  played.play(sink);
  const std::uint64_t written = sink.stats().images_written;
  fs::remove(folder_ / "run_data_000002.h5");  // four of them
  const std::vector<LostImage> lost = sink.settle();
  ASSERT_EQ(lost.size(), 4U);
  EXPECT_EQ(sink.stats().images_written, written - 4);
  std::vector<std::uint64_t> stored;
  for (std::uint64_t n = 0; n < 12; ++n) {
    if (played.image(n).decision == Decision::accepted) stored.push_back(n);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(lost[i].index, stored[4 + i]);
    EXPECT_EQ(lost[i].frame_number, 100 + 3 * stored[4 + i]);
    EXPECT_NE(lost[i].reason, "");
  }
  EXPECT_TRUE(sink.settle().empty()) << "they are said once";
}

TEST_F(Hdf5SinkTest, a_full_disk_makes_images_errored_and_storing_goes_on_when_there_is_room) {
  // A limit on the size of files stands for the full disk: the same failing write, without a file system of its own.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::mt19937 random(2);
  Played run(15);
  for (auto& image : run.pixels) {
    for (auto& pixel : image) pixel = static_cast<std::int16_t>(random());  // does not compress: 4.5 KB an image
  }
  Hdf5Config configuration = config(15);
  configuration.images_per_file = 100;
  Hdf5Sink sink(configuration);
  const auto put = [&](std::uint64_t from, std::uint64_t to) {
    Stack stack;
    for (std::uint64_t n = from; n < to; ++n) stack.images.push_back(run.image(n));
    stack.count = static_cast<std::uint32_t>(stack.images.size());
    put_and_mark(sink, stack);
    for (const StackImage& one : stack.view()) run.count(one);
  };
  put(0, 2);
  rlimit limit = before;
  limit.rlim_cur = fs::file_size(folder_ / "run_data_000001.h5") + 1000;
  setrlimit(RLIMIT_FSIZE, &limit);
  put(7, 9);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(run.books.errored, 2U);
  EXPECT_NE(sink.error().find("frame 121"), std::string::npos) << sink.error();
  EXPECT_NE(sink.error().find("check the space"), std::string::npos) << sink.error();
  put(14, 15);
  run.books.written = sink.stats().images_written;
  EXPECT_EQ(run.books.written, 3U);
  EXPECT_TRUE(run.books.balanced());
  sink.close(run.books);
  const auto stored = read<std::int16_t>(master(), "/entry/data/data", H5T_NATIVE_INT16);
  ASSERT_EQ(stored.size(), 3 * kPixels);
  EXPECT_TRUE(std::equal(run.pixels[14].begin(), run.pixels[14].end(), stored.begin() + 2 * kPixels));
}

}  // namespace
}  // namespace rashpa::sink
