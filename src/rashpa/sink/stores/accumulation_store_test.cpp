// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stores/accumulation_store.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
#include "rashpa/sink/repair/repair.hpp"
#include "rashpa/sink/testing/read_entry.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kWidth = 6, kHeight = 4, kPixels = kWidth * kHeight;

class AccumulationStoreTest : public testing::Test {
 protected:
  [[nodiscard]] Hdf5Config config() const {
    Hdf5Config out;
    out.prefix = (folder_ / "run").string();
    out.width = kWidth;
    out.height = kHeight;
    out.images = 8;
    out.results.accumulations = {{.name = "accumulate",
                                  .quantities = {{.name = "sum", .type = Quantity::Type::i64},
                                                 {.name = "counted", .type = Quantity::Type::u32, .unit = "images"}},
                                  .shape = {kHeight, kWidth},
                                  .window = 4},
                                 {.name = "profile",
                                  .quantities = {{.name = "intensity", .type = Quantity::Type::f64}},
                                  .shape = {3},
                                  .axes = {{.name = "q", .unit = "1/nm", .values = {0.5, 1.0, 1.5}}}}};
    return out;
  }
  [[nodiscard]] fs::path file(const std::string& what) const { return folder_ / ("run_" + what); }

  /// Images [4 · window, 4 · window + 4), which end a window of the first accumulation.
  void play(Sink& sink, std::uint64_t window) {
    Stack stack;
    stack.number = window;
    stack.count = 4;
    stack.images.resize(4);
    for (std::uint64_t i = 0; i < 4; ++i) {
      stack.images[i].index = stack.images[i].frame_number = window * 4 + i;
      stack.images[i].completeness = Completeness::complete;
      stack.images[i].decision = Decision::accepted;
      stack.images[i].pixels = reinterpret_cast<const std::byte*>(pixels_.data());
    }
    sum_.assign(kPixels, static_cast<std::int64_t>(window) - 7);
    counted_.assign(kPixels, 3);
    stack.accumulated[0] = {
        {reinterpret_cast<const std::byte*>(sum_.data()), reinterpret_cast<const std::byte*>(counted_.data())},
        window,
        window * 4,
        window * 4 + 4,
        3};
    put_and_mark(sink, stack);
  }
  void play_open(Sink& sink) {
    Accumulated open{};
    open[1] = {{reinterpret_cast<const std::byte*>(profile_.data())}, 0, 0, 8, 6};
    dynamic_cast<WindowKeeping&>(sink).put_windows(open);
  }
  void check_all(const fs::path& master, const std::string& at) {
    EXPECT_EQ(read<std::int64_t>(master, at + "/accumulate/sum", H5T_NATIVE_INT64).back(), -6);
    EXPECT_EQ(read<std::int64_t>(master, at + "/accumulate/sum", H5T_NATIVE_INT64).size(), 2 * kPixels);
    EXPECT_EQ(read<std::uint32_t>(master, at + "/accumulate/counted", H5T_NATIVE_UINT32),
              std::vector<std::uint32_t>(std::size_t{2} * kPixels, 3));
    EXPECT_EQ(read<std::uint64_t>(master, at + "/accumulate/first_image", H5T_NATIVE_UINT64),
              (std::vector<std::uint64_t>{0, 4}));
    EXPECT_EQ(read<std::uint64_t>(master, at + "/accumulate/end_image", H5T_NATIVE_UINT64),
              (std::vector<std::uint64_t>{4, 8}));
    EXPECT_EQ(read<std::uint64_t>(master, at + "/accumulate/images", H5T_NATIVE_UINT64),
              (std::vector<std::uint64_t>{3, 3}));
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  std::vector<std::uint16_t> pixels_ = std::vector<std::uint16_t>(kPixels, 1);
  std::vector<std::int64_t> sum_;
  std::vector<std::uint32_t> counted_;
  std::vector<double> profile_{1.5, 2.5, 3.5};
};

constexpr Books kBooks{.expected = 8, .complete = 8, .accepted = 8, .written = 8};
const std::string kAt = "/entry/rashpa/accumulated";

TEST_F(AccumulationStoreTest, windows_are_in_the_master_and_name_their_images) {
  Hdf5Sink sink(config());
  sink.begin();
  play(sink, 0);
  play(sink, 1);
  play_open(sink);
  EXPECT_TRUE(sink.settle().empty());
  sink.close(kBooks);
  EXPECT_EQ(sink.error(), "");
  check_all(file("master.h5"), kAt);
  EXPECT_EQ(read<double>(file("master.h5"), kAt + "/profile/intensity", H5T_NATIVE_DOUBLE), profile_);
  EXPECT_EQ(read<double>(file("master.h5"), kAt + "/profile/q", H5T_NATIVE_DOUBLE),
            (std::vector<double>{0.5, 1.0, 1.5}));
}

TEST_F(AccumulationStoreTest, a_run_that_never_began_leaves_nothing) {
  { const Hdf5Sink sink(config()); }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(AccumulationStoreTest, windows_that_ended_survive_a_kill) {
  const pid_t child = ::fork();
  if (child == 0) {
    Hdf5Sink sink(config());
    sink.begin();
    play(sink, 0);
    play(sink, 1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Repaired done = repair((folder_ / "run").string());
  EXPECT_EQ(done.books.accepted, 8U);
  check_all(file("master.h5"), kAt);
}

TEST_F(AccumulationStoreTest, a_file_that_is_gone_is_said_and_images_stay) {
  Hdf5Sink sink(config());
  sink.begin();
  play(sink, 0);
  fs::remove(file("accumulated.h5"));
  play(sink, 1);
  EXPECT_TRUE(sink.settle().empty());
  sink.close(kBooks);
  EXPECT_NE(sink.error().find("accumulated.h5 was removed"), std::string::npos) << sink.error();
  EXPECT_EQ(sink.stats().images_written, 8U);
}

TEST_F(AccumulationStoreTest, an_older_file_is_in_the_way_or_replaced) {
  {
    Hdf5Sink sink(config());
    sink.begin();
    play(sink, 0);
    sink.settle();
    sink.close(kBooks);
  }
  EXPECT_THROW(Hdf5Sink{config()}, FileError);
  Hdf5Config again = config();
  again.existing = Existing::replace;
  again.results.accumulations.clear();
  Hdf5Sink sink(again);
  sink.begin();
  sink.settle();
  sink.close({.expected = 8});
  EXPECT_FALSE(fs::exists(file("accumulated.h5"))) << "it belongs to no run any more";
}

TEST_F(AccumulationStoreTest, bytes_of_windows_are_the_sink_s) {
  Hdf5Config bare = config();
  bare.prefix = (folder_ / "bare").string();
  bare.results.accumulations.clear();
  Hdf5Sink with(config()), without(bare);
  play(with, 0);
  play(without, 0);
  const std::uint64_t images = without.stats().bytes_stored;
  EXPECT_GT(with.stats().bytes_stored, images);
  EXPECT_LT(with.stats().bytes_stored, images + 1'000'000);
}

}  // namespace
}  // namespace rashpa::sink
