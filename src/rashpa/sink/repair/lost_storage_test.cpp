// SPDX-License-Identifier: Apache-2.0
/// The remains when storage fails: disks that are full, files that are removed, processes that are killed.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
#include "rashpa/sink/repair/repair.hpp"
#include "rashpa/sink/testing/read_entry.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kWidth = 64, kHeight = 64, kStack = 5;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

/// Pixels that do not compress, different in every image.
std::vector<std::uint16_t> pixels_of(std::uint64_t image) {
  std::mt19937 random(static_cast<std::uint32_t>(image + 1));
  std::vector<std::uint16_t> pixels(kPixels);
  for (auto& pixel : pixels) pixel = static_cast<std::uint16_t>(random());
  return pixels;
}

class LostStorage : public testing::Test {
 protected:
  void TearDown() override {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }

  /// The folder on a file system of its own, of `bytes`. False where that is not allowed.
  bool mount_small_disk(std::uint64_t bytes) {
    mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()) == 0;
    return mounted_;
  }

  [[nodiscard]] Hdf5Config config(std::uint64_t images) const {
    Hdf5Config out;
    out.prefix = (folder_ / "run").string();
    out.images_per_file = 20;
    out.width = kWidth;
    out.height = kHeight;
    out.images = images;
    out.slice = {2, 1};
    out.buffer = "full";
    return out;
  }
  [[nodiscard]] fs::path file(const std::string& what) const { return folder_ / ("run_" + what); }

  /// Image 3 of each ten has lost lines, image 7 is vetoed, image 9 missing.
  StackImage image(std::uint64_t index) {
    StackImage out;
    out.index = index;
    out.frame_number = 1 + 2 * index;
    out.completeness = Completeness::complete;
    out.decision = Decision::accepted;
    if (index % 10 == 3) {
      out.completeness = Completeness::partial;
      out.lost = &lost_run_;
      out.lost_count = 1;
    } else if (index % 10 == 7) {
      out.decision = Decision::vetoed;
      out.reason = VetoReason::too_few;
    } else if (index % 10 == 9) {
      out.completeness = Completeness::missing;
      out.decision = Decision::none;
    }
    return out;
  }

  void play(Sink& sink, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t n = from; n < to; n += kStack) {
      Stack stack;
      std::vector<std::vector<std::uint16_t>> pixels;
      for (std::uint64_t i = n; i < std::min<std::uint64_t>(n + kStack, to); ++i) {
        pixels.push_back(pixels_of(i));
        stack.images.push_back(image(i));
        stack.images.back().pixels = reinterpret_cast<const std::byte*>(pixels.back().data());
      }
      stack.count = static_cast<std::uint32_t>(stack.images.size());
      put_and_mark(sink, stack);
      for (const StackImage& one : stack.view()) count(one);
    }
  }
  void count(const StackImage& one) {
    books_.expected += 1;
    books_.complete += one.completeness == Completeness::complete;
    books_.partial += one.completeness == Completeness::partial;
    books_.missing += one.completeness == Completeness::missing;
    books_.accepted += one.decision == Decision::accepted;
    books_.vetoed += one.decision == Decision::vetoed;
    books_.errored += one.decision == Decision::errored;
  }
  std::vector<LostImage> settle(Sink& sink) {
    std::vector<LostImage> lost = sink.settle();
    books_.accepted -= lost.size();
    books_.errored += lost.size();
    books_.written = sink.stats().images_written;
    return lost;
  }

  /// The master's tables have `rows` rows and agree with the images that it shows, pixel by pixel; returns how many it
  /// shows.
  std::uint64_t check_master(std::uint64_t rows) {
    const fs::path master = file("master.h5");
    const auto decision = read<std::uint8_t>(master, "/entry/rashpa/decision", H5T_NATIVE_UINT8);
    const auto error = read<std::uint8_t>(master, "/entry/rashpa/error_reason", H5T_NATIVE_UINT8);
    const auto completeness = read<std::uint8_t>(master, "/entry/rashpa/completeness", H5T_NATIVE_UINT8);
    const auto frame = read<std::uint64_t>(master, "/entry/rashpa/frame_number", H5T_NATIVE_UINT64);
    const auto stored = read<std::int64_t>(master, "/entry/rashpa/stored_index", H5T_NATIVE_INT64);
    const auto shown = read<std::uint16_t>(master, "/entry/data/data", H5T_NATIVE_UINT16);
    const auto frames = read<std::uint64_t>(master, "/entry/data/frame_number", H5T_NATIVE_UINT64);
    const auto lost = read<std::uint64_t>(master, "/entry/rashpa/lost_runs/ptr", H5T_NATIVE_UINT64);
    EXPECT_EQ(decision.size(), rows);
    EXPECT_EQ(lost.size(), rows + 1);
    EXPECT_EQ(shown.size(), frames.size() * kPixels);
    std::int64_t place = 0;
    for (std::uint64_t i = 0; i < decision.size(); ++i) {
      EXPECT_EQ(frame[i], 1 + 2 * i);
      EXPECT_EQ(error[i] != 0, decision[i] == static_cast<std::uint8_t>(Decision::errored)) << "image " << i;
      const bool kept = decision[i] == static_cast<std::uint8_t>(Decision::accepted);
      EXPECT_EQ(stored[i], kept ? place : -1) << "image " << i;
      const bool partial = completeness[i] == static_cast<std::uint8_t>(Completeness::partial);
      EXPECT_EQ(lost[i + 1] - lost[i], partial ? 1U : 0U);
      if (!kept) continue;
      const auto expected = pixels_of(i);
      const auto* at = shown.data() + static_cast<std::size_t>(place) * kPixels;
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), at)) << "image " << i;
      EXPECT_EQ(frames[static_cast<std::size_t>(place)], 1 + 2 * i);
      ++place;
    }
    EXPECT_EQ(frames.size(), static_cast<std::size_t>(place));
    return frames.size();
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  LostRun lost_run_{0, 4, 2};
  Books books_;
  bool mounted_ = false;
};

/// Runs `work` in a process of its own that is killed at its end.
template <typename Work>
void run_killed(const Work& work) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    work();
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST_F(LostStorage, on_a_full_disk_the_master_is_complete_and_what_counts_as_written_can_be_read) {
  // Sizes at which the disk is full in the middle of different things.
  for (const std::uint64_t disk : {2'100'000U, 2'150'000U, 2'200'000U, 2'250'000U, 2'300'000U, 2'400'000U}) {
    SCOPED_TRACE(disk);
    if (!mount_small_disk(disk)) GTEST_SKIP() << "no file system may be mounted here";
    books_ = {};
    Hdf5Sink sink(config(200));
    play(sink, 0, 200);
    settle(sink);
    EXPECT_GT(books_.errored, 0U);
    EXPECT_TRUE(books_.balanced()) << books_.accepted << " accepted, " << books_.written << " written";
    EXPECT_NE(sink.error().find("No space left"), std::string::npos) << sink.error();
    EXPECT_NO_THROW(sink.close(books_));
    EXPECT_EQ(check_master(200), books_.written);
    EXPECT_GT(books_.written, 0U);
    EXPECT_FALSE(fs::exists(file("master.journal")));
    umount2(folder_.c_str(), MNT_DETACH);
    mounted_ = false;
  }
}

TEST_F(LostStorage, a_disk_without_room_for_the_tables_is_refused_before_the_run) {
  if (!mount_small_disk(1U << 20)) GTEST_SKIP() << "no file system may be mounted here";
  try {
    Hdf5Sink sink(config(100'000));
    FAIL() << "accepted";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("no room for the tables"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(LostStorage, images_of_a_removed_folder_are_errored_at_the_end) {
  Hdf5Sink sink(config(40));
  play(sink, 0, 30);
  EXPECT_EQ(sink.stats().images_written, books_.accepted);
  fs::remove_all(folder_);
  play(sink, 30, 40);
  const auto lost = settle(sink);
  EXPECT_EQ(books_.written, 0U);
  EXPECT_EQ(books_.accepted, 0U);
  EXPECT_TRUE(books_.balanced());
  ASSERT_FALSE(lost.empty());
  EXPECT_EQ(lost[0].index, 0U);
  EXPECT_NE(lost[0].reason.find("removed"), std::string::npos) << lost[0].reason;
  EXPECT_THROW(sink.close(books_), FileError);
  EXPECT_NE(sink.error().find("removed"), std::string::npos) << sink.error();
}

TEST_F(LostStorage, a_removed_data_file_takes_only_its_own_images) {
  Hdf5Sink sink(config(60));
  play(sink, 0, 60);  // 48 images: files 1 and 2 are full
  fs::remove(file("data_000001.h5"));
  const auto lost = settle(sink);
  EXPECT_EQ(lost.size(), 20U);
  EXPECT_EQ(books_.written, 28U);
  EXPECT_TRUE(books_.balanced());
  sink.close(books_);
  EXPECT_EQ(check_master(60), 28U);
}

TEST_F(LostStorage, repair_completes_the_master_of_a_killed_process_and_invents_nothing) {
  run_killed([&] {
    Hdf5Sink sink(config(100));
    play(sink, 0, 45);
  });
  const Repaired done = repair((folder_ / "run").string());
  EXPECT_FALSE(done.was_complete);
  EXPECT_EQ(done.unknown, 55U);
  EXPECT_EQ(done.lost, 0U);
  EXPECT_EQ(done.books.written, 37U);
  EXPECT_EQ(check_master(100), 37U);
  const auto completeness = read<std::uint8_t>(file("master.h5"), "/entry/rashpa/completeness", H5T_NATIVE_UINT8);
  const auto decision = read<std::uint8_t>(file("master.h5"), "/entry/rashpa/decision", H5T_NATIVE_UINT8);
  ASSERT_EQ(completeness.size(), 100U);
  for (std::size_t i = 45; i < 100; ++i) {
    EXPECT_EQ(completeness[i], static_cast<std::uint8_t>(Completeness::open));
    EXPECT_EQ(decision[i], static_cast<std::uint8_t>(Decision::none));
  }
  EXPECT_EQ(read<std::uint8_t>(file("master.h5"), "/entry/rashpa/books/balanced", H5T_NATIVE_UINT8).at(0), 0);
  EXPECT_FALSE(fs::exists(file("master.journal")));
  EXPECT_TRUE(repair((folder_ / "run").string()).was_complete);
}

TEST_F(LostStorage, repair_finds_gaps_and_dead_pixels_in_the_first_stored_image) {
  const auto pixels = pixels_of(0);
  Hdf5Config special = config(20);
  special.delivered = true;
  special.special = {{pixels[5], Meaning::gap}, {pixels[77], Meaning::dead}};
  special.largest_count = largest_count_of(PixelType::u16, special.special);
  special.metadata.pixel_mask.assign(kPixels, 0);
  special.metadata.pixel_mask[9] = 16;
  run_killed([&] {
    Hdf5Sink sink(special);
    play(sink, 0, 10);
  });
  static_cast<void>(repair((folder_ / "run").string()));
  const auto mask = read<std::uint32_t>(file("master.h5"), "/entry/instrument/detector/pixel_mask", H5T_NATIVE_UINT32);
  ASSERT_EQ(mask.size(), kPixels);
  for (std::size_t i = 0; i < kPixels; ++i) {
    const std::uint32_t known = i == 9 ? 16 : 0;
    ASSERT_EQ(mask[i], known | (pixels[i] == pixels[5] ? 1U : 0U) | (pixels[i] == pixels[77] ? 2U : 0U)) << i;
  }
  const auto saturation =
      read<std::int64_t>(file("master.h5"), "/entry/instrument/detector/saturation_value", H5T_NATIVE_INT64);
  EXPECT_EQ(saturation.at(0), std::min(pixels[5], pixels[77]) - 1);
}

TEST_F(LostStorage, repair_marks_images_that_their_data_file_does_not_hold) {
  run_killed([&] {
    Hdf5Sink sink(config(60));
    play(sink, 0, 60);
  });
  fs::remove(file("data_000002.h5"));
  const Repaired done = repair((folder_ / "run").string());
  EXPECT_EQ(done.lost, 20U);
  EXPECT_EQ(done.books.errored, 20U);
  EXPECT_EQ(check_master(60), 28U);
}

TEST_F(LostStorage, repair_completes_lists_of_a_killed_process) {
  constexpr std::uint32_t kCount = 100'000;
  std::vector<std::uint32_t> index(kCount);
  std::vector<std::int16_t> value(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    index[i] = i;
    value[i] = static_cast<std::int16_t>(i % 1000);
  }
  Hdf5Config lists = config(12);
  lists.form = ImageForm::sparse;
  lists.pixel = PixelType::i16;
  run_killed([&] {
    Hdf5Sink sink(lists);
    for (std::uint64_t i = 0; i < 10; ++i) {
      Stack stack;
      stack.count = 1;
      stack.images.push_back(image(i));
      stack.images[0].sparse = {index.data(), value.data(), kCount};
      put_and_mark(sink, stack);
    }
  });
  const Repaired done = repair(lists.prefix);
  // 8 of 10 are accepted; 800 000 elements, of which three chunks of 262144 reached the file.
  EXPECT_EQ(done.books.written, 7U);
  EXPECT_EQ(done.lost, 1U);
  EXPECT_EQ(done.unknown, 2U);
  const auto ptr = read<std::uint64_t>(file("master.h5"), "/entry/data/frame_ptr", H5T_NATIVE_UINT64);
  ASSERT_EQ(ptr.size(), 8U);
  const auto indices = read<std::uint32_t>(file("master.h5"), "/entry/data/index", H5T_NATIVE_UINT32);
  ASSERT_GE(indices.size(), ptr.back());
  for (std::size_t i = 0; i < ptr.back(); ++i) ASSERT_EQ(indices[i], i % kCount);
}

TEST_F(LostStorage, a_master_that_cannot_be_completed_is_said_and_completed_later) {
  Hdf5Sink sink(config(30));
  play(sink, 0, 30);
  settle(sink);
  fs::create_directory(file("master.h5.completing"));  // in the way of the copy
  try {
    sink.close(books_);
    FAIL() << "closed";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("rashpa repair"), std::string::npos) << error.what();
  }
  fs::remove(file("master.h5.completing"));
  EXPECT_THROW(repair((folder_ / "run").string()), FileError) << "the sink still has it";
}

TEST_F(LostStorage, a_sink_that_is_gone_can_be_repaired) {
  {
    Hdf5Sink sink(config(30));
    play(sink, 0, 30);
    settle(sink);
    fs::create_directory(file("master.h5.completing"));
    EXPECT_THROW(sink.close(books_), FileError);
  }
  fs::remove(file("master.h5.completing"));
  const Repaired done = repair((folder_ / "run").string());
  EXPECT_EQ(done.unknown, 0U);
  EXPECT_EQ(done.books, books_);
  EXPECT_EQ(check_master(30), books_.written);
}

TEST_F(LostStorage, older_files_stay_until_the_run_begins_even_when_the_process_is_killed) {
  {
    Hdf5Sink old(config(30));
    play(old, 0, 30);
    settle(old);
    old.close(books_);
  }
  const std::uint64_t stored = check_master(30);
  Hdf5Config again = config(10);
  EXPECT_THROW(Hdf5Sink{again}, FileError);
  again.existing = Existing::replace;
  run_killed([&] { const Hdf5Sink killed(again); });
  run_killed([&] {
    static std::optional<Hdf5Sink> killed;
    killed.emplace(again);
  });
  EXPECT_EQ(check_master(30), stored);
  { const Hdf5Sink never_begun(again); }
  EXPECT_EQ(check_master(30), stored);
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path().extension(), ".h5") << entry.path();
  Hdf5Sink sink(again);
  EXPECT_EQ(check_master(30), stored);
  sink.begin();
  EXPECT_FALSE(fs::exists(file("data_000002.h5"))) << "of the earlier run";
  play(sink, 0, 10);
  settle(sink);
  sink.close(books_);
  EXPECT_EQ(check_master(10), 8U);
}

TEST_F(LostStorage, a_run_that_is_being_written_is_not_replaced) {
  Hdf5Config other = config(10);
  other.existing = Existing::replace;
  Hdf5Sink first(config(10));
  EXPECT_THROW(Hdf5Sink{other}, FileError);
  first.begin();
  EXPECT_THROW(Hdf5Sink{other}, FileError);
  play(first, 0, 10);
  settle(first);
  first.close(books_);
  EXPECT_EQ(check_master(10), 8U);
}

TEST_F(LostStorage, a_journal_without_a_master_is_replaced_where_that_was_asked_for) {
  std::ofstream(file("master.journal")) << "of a run whose other files were removed";
  EXPECT_THROW(Hdf5Sink{config(10)}, FileError) << "it may be all that is left of a run";
  Hdf5Config replacing = config(10);
  replacing.existing = Existing::replace;
  Hdf5Sink sink(replacing);
  play(sink, 0, 10);
  settle(sink);
  sink.close(books_);
  EXPECT_EQ(check_master(10), 8U);
  EXPECT_FALSE(fs::exists(file("master.journal")));
}

/// Reports every third image as overwritten while it was read.
struct Careless final : SlotGuard {
  [[nodiscard]] bool overwritten(const StackImage& image) const noexcept override { return image.index % 3 == 1; }
};

TEST_F(LostStorage, an_image_that_was_overwritten_while_it_was_compressed_is_not_stored) {
  Hdf5Sink sink(config(10));
  const Careless guard;
  Stack stack;
  std::vector<std::vector<std::uint16_t>> slots;
  for (std::uint64_t i = 0; i < 10; ++i) {
    slots.push_back(pixels_of(i));
    stack.images.push_back(image(i));
    stack.images.back().raw = reinterpret_cast<std::byte*>(slots.back().data());
    stack.images.back().pixels = stack.images.back().raw;
  }
  stack.count = 10;
  stack.guard = &guard;
  put_and_mark(sink, stack);
  for (const StackImage& one : stack.view()) {
    count(one);
    EXPECT_EQ(one.error, one.decision == Decision::errored ? ErrorReason::overwritten : ErrorReason::none);
  }
  EXPECT_EQ(books_.errored, 2U) << "images 1 and 4; 7 is vetoed";
  settle(sink);
  sink.close(books_);
  EXPECT_EQ(check_master(10), 6U);
}

}  // namespace
}  // namespace rashpa::sink
