// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stores/table_store.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/mount.h>
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

constexpr std::uint32_t kSide = 8;
constexpr std::uint32_t kStack = 5;

std::uint32_t rows_of(std::uint64_t image, std::size_t table) {
  return static_cast<std::uint32_t>(table == 0 ? image * 7 % 100 : image % 3);
}

class TableStoreTest : public testing::Test {
 protected:
  void TearDown() override {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] Hdf5Config config(std::uint64_t images) const {
    Hdf5Config out;
    out.prefix = (folder_ / "run").string();
    out.width = out.height = kSide;
    out.images = images;
    out.results.tables = {{"peaks",
                           {{.name = "x", .unit = "pixels", .doc = "Column"},
                            {.name = "value", .type = Column::Type::i64},
                            {.name = "weight", .type = Column::Type::f64},
                            {.name = "big", .type = Column::Type::u64}},
                           100},
                          {"other", {{.name = "n"}}, 3}};
    out.results.profiles = profiles();
    return out;
  }
  static std::vector<Profile> profiles() {
    return {
        {"azimuthal",
         {{.name = "I", .type = Column::Type::f64, .unit = "photons"}, {.name = "I_errors", .type = Column::Type::f64}},
         {{.name = "radial_axis", .unit = "1/nm", .doc = "Bins", .values = {0.5, 1.5, 2.5}}},
         "NXazint1d"},
        {"map",
         {{.name = "I", .type = Column::Type::f64}},
         {{.name = "chi", .values = {-90, 90}}, {.name = "q", .values = {1, 2, 3, 4}}},
         {}}};
  }
  /// Value of a bin of an array of an image's profile.
  static double value_of(std::uint64_t image, std::size_t profile, std::size_t place) {
    return static_cast<double>(1000 * image + 100 * profile + place);
  }
  [[nodiscard]] fs::path file(const std::string& what) const { return folder_ / ("run_" + what); }

  /// Every fourth image is vetoed.
  void play(Sink& sink, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t n = from; n < to; n += kStack) {
      Stack stack;
      std::vector<std::vector<Scalar>> values;
      std::vector<std::vector<double>> arrays;
      for (std::uint64_t i = n; i < std::min<std::uint64_t>(n + kStack, to); ++i) {
        StackImage& image = stack.images.emplace_back();
        image.index = image.frame_number = i;
        image.completeness = Completeness::complete;
        image.decision = i % 4 == 3 ? Decision::vetoed : Decision::accepted;
        image.pixels = reinterpret_cast<const std::byte*>(pixels_.data());
        std::vector<Scalar>& peaks = values.emplace_back();
        for (std::uint32_t row = 0; row < rows_of(i, 0); ++row) {
          peaks.insert(peaks.end(), {Scalar::of_count(row), Scalar::of_integer(-static_cast<std::int64_t>(i)),
                                     Scalar::of_real(0.5 * row), Scalar::of_count(~std::uint64_t{0} - row)});
        }
        image.tables[0] = {peaks.data(), rows_of(i, 0)};
        std::vector<Scalar>& others = values.emplace_back(rows_of(i, 1), Scalar::of_count(i));
        image.tables[1] = {others.data(), rows_of(i, 1)};
        if (image.decision != Decision::accepted) continue;
        for (const std::size_t p : {0U, 1U}) {
          std::vector<double>& array = arrays.emplace_back();
          for (std::size_t k = 0; k < (p == 0 ? 6U : 8U); ++k) array.push_back(value_of(i, p, k));
          image.profiles[p] = {array.data()};
        }
      }
      stack.count = static_cast<std::uint32_t>(stack.images.size());
      put_and_mark(sink, stack);
      for (const StackImage& image : stack.view()) {
        books_.expected += 1;
        books_.complete += 1;
        books_.accepted += image.decision == Decision::accepted;
        books_.vetoed += image.decision == Decision::vetoed;
        books_.errored += image.decision == Decision::errored;
      }
    }
  }
  std::vector<LostImage> settle(Sink& sink) {
    std::vector<LostImage> lost = sink.settle();
    books_.accepted -= lost.size();
    books_.errored += lost.size();
    books_.written = sink.stats().images_written;
    return lost;
  }
  /// The rows of every image that is stored are those that play() gave; returns how many images are.
  std::uint64_t check_rows() {
    const fs::path master = file("master.h5");
    const auto stored = read<std::int64_t>(master, "/entry/rashpa/stored_index", H5T_NATIVE_INT64);
    const std::string path = "/entry/rashpa/tables/";
    const auto ptr = read<std::uint64_t>(master, path + "peaks/ptr", H5T_NATIVE_UINT64);
    const auto x = read<std::uint32_t>(master, path + "peaks/x", H5T_NATIVE_UINT32);
    const auto value = read<std::int64_t>(master, path + "peaks/value", H5T_NATIVE_INT64);
    const auto weight = read<double>(master, path + "peaks/weight", H5T_NATIVE_DOUBLE);
    const auto big = read<std::uint64_t>(master, path + "peaks/big", H5T_NATIVE_UINT64);
    const auto other = read<std::uint64_t>(master, path + "other/ptr", H5T_NATIVE_UINT64);
    const auto n = read<std::uint32_t>(master, path + "other/n", H5T_NATIVE_UINT32);
    EXPECT_EQ(ptr.size(), stored.size() + 1);
    std::uint64_t images = 0;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (stored[i] < 0) continue;
      images += 1;
      EXPECT_EQ(ptr[i + 1] - ptr[i], rows_of(i, 0)) << "image " << i;
      EXPECT_EQ(other[i + 1] - other[i], rows_of(i, 1)) << "image " << i;
      if (ptr[i + 1] > x.size() || other[i + 1] > n.size()) {
        ADD_FAILURE() << "rows of image " << i << " are not there";
        break;
      }
      for (std::uint64_t row = ptr[i]; row < ptr[i + 1]; ++row) {
        const std::uint64_t k = row - ptr[i];
        EXPECT_EQ(x[row], k);
        EXPECT_EQ(value[row], -static_cast<std::int64_t>(i));
        EXPECT_EQ(weight[row], 0.5 * static_cast<double>(k));
        EXPECT_EQ(big[row], ~std::uint64_t{0} - k);
      }
      for (std::uint64_t row = other[i]; row < other[i + 1]; ++row) EXPECT_EQ(n[row], i);
      check_profiles(i, images - 1);
    }
    check_axes(images);
    return images;
  }

  void check_profiles(std::size_t image, std::size_t place) {
    if (intensity_.empty()) {
      const std::string path = "/entry/rashpa/profiles/";
      intensity_ = read<double>(file("master.h5"), path + "azimuthal/I", H5T_NATIVE_DOUBLE);
      errors_ = read<double>(file("master.h5"), "/entry/azimuthal/data/I_errors", H5T_NATIVE_DOUBLE);
      map_ = read<double>(file("master.h5"), path + "map/I", H5T_NATIVE_DOUBLE);
    }
    ASSERT_LE((place + 1) * 3, intensity_.size());
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(intensity_[place * 3 + k], value_of(image, 0, k)) << "image " << image;
      EXPECT_EQ(errors_[place * 3 + k], value_of(image, 0, 3 + k)) << "image " << image;
    }
    for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(map_[place * 8 + k], value_of(image, 1, k)) << "image " << image;
  }
  void check_axes(std::uint64_t images) {
    if (images > 0) {
      EXPECT_EQ(map_.size(), images * 8);
      const std::string path = "/entry/rashpa/profiles/";
      EXPECT_EQ(read<double>(file("master.h5"), path + "azimuthal/radial_axis", H5T_NATIVE_DOUBLE),
                (std::vector<double>{0.5, 1.5, 2.5}));
      EXPECT_EQ(read<double>(file("master.h5"), path + "map/chi", H5T_NATIVE_DOUBLE), (std::vector<double>{-90, 90}));
    }
    intensity_.clear();
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  std::vector<double> intensity_, errors_, map_;
  std::vector<std::uint16_t> pixels_ = std::vector<std::uint16_t>(std::size_t{kSide} * kSide, 3);
  Books books_;
  bool mounted_ = false;
};

TEST_F(TableStoreTest, rows_of_stored_images_are_read_again_by_image) {
  Hdf5Sink sink(config(203));
  EXPECT_TRUE(fs::exists(file("tables.h5.new"))) << "it takes its name when the run begins";
  play(sink, 0, 203);
  EXPECT_EQ(sink.stats().images_written, books_.accepted) << "rows reach the file with their stack";
  EXPECT_TRUE(settle(sink).empty());
  EXPECT_TRUE(books_.balanced());
  sink.close(books_);
  EXPECT_EQ(sink.error(), "");
  EXPECT_EQ(check_rows(), books_.written);
  EXPECT_EQ(books_.written, 153U);
}

TEST_F(TableStoreTest, files_of_an_earlier_run_are_in_the_way_or_replaced) {
  {
    Hdf5Sink sink(config(10));
    play(sink, 0, 10);
    settle(sink);
    sink.close(books_);
  }
  fs::remove(file("master.h5"));
  fs::remove(file("data_000001.h5"));
  EXPECT_THROW(Hdf5Sink{config(10)}, FileError) << "the tables are still there";
  Hdf5Config replacing = config(10);
  replacing.existing = Existing::replace;
  replacing.results = {};
  Hdf5Sink sink(replacing);
  sink.begin();
  EXPECT_FALSE(fs::exists(file("tables.h5"))) << "rows of another run";
}

TEST_F(TableStoreTest, a_run_that_never_begins_leaves_no_file) {
  { const Hdf5Sink sink(config(10)); }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(TableStoreTest, images_whose_rows_are_gone_are_errored) {
  Hdf5Sink sink(config(60));
  play(sink, 0, 40);
  fs::remove(file("tables.h5"));
  play(sink, 40, 60);
  const auto lost = settle(sink);
  EXPECT_TRUE(books_.balanced());
  ASSERT_FALSE(lost.empty());
  EXPECT_NE(sink.error().find("tables.h5 was removed or replaced"), std::string::npos) << sink.error();
  EXPECT_NE(lost[0].reason.find("its rows of a table or its profiles are not in"), std::string::npos) << lost[0].reason;
  EXPECT_EQ(books_.written, 0U) << "every image has profiles";
}

TEST_F(TableStoreTest, repair_keeps_images_whose_rows_had_reached_the_file) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Hdf5Sink sink(config(300));
    play(sink, 0, 200);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const Repaired done = repair((folder_ / "run").string());
  EXPECT_EQ(done.unknown, 100U);
  EXPECT_EQ(done.lost, 0U);
  EXPECT_EQ(done.books.written, 150U);
  EXPECT_EQ(check_rows(), 150U);
}

TEST_F(TableStoreTest, repair_marks_images_whose_rows_are_gone) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Hdf5Sink sink(config(20));
    play(sink, 0, 20);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  fs::remove(file("tables.h5"));
  const Repaired done = repair((folder_ / "run").string());
  EXPECT_EQ(done.books.written, 0U) << "every image has profiles";
  EXPECT_EQ(done.books.errored, 15U);
}

TEST_F(TableStoreTest, on_a_full_disk_what_counts_as_written_has_its_rows) {
  for (const std::uint64_t disk : {3'000'000U, 3'300'000U, 3'600'000U}) {
    SCOPED_TRACE(disk);
    mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("size=" + std::to_string(disk)).c_str()) == 0;
    if (!mounted_) GTEST_SKIP() << "no file system may be mounted here";
    books_ = {};
    {
      Hdf5Sink sink(config(2000));
      play(sink, 0, 2000);
      settle(sink);
      EXPECT_TRUE(books_.balanced()) << books_.accepted << " accepted, " << books_.written << " written";
      EXPECT_GT(books_.errored, 0U);
      EXPECT_NO_THROW(sink.close(books_));
    }
    EXPECT_EQ(check_rows(), books_.written);
    umount2(folder_.c_str(), MNT_DETACH);
    mounted_ = false;
  }
}

TEST_F(TableStoreTest, bytes_of_tables_are_the_sink_s_and_an_image_whose_rows_are_gone_is_not_written) {
  Hdf5Config bare = config(20);
  bare.prefix = (folder_ / "bare").string();
  bare.results.tables.clear();
  bare.results.profiles.clear();
  Hdf5Sink with(config(20)), without(bare);
  for (Sink* sink : {static_cast<Sink*>(&with), static_cast<Sink*>(&without)}) {
    play(*sink, 0, 20);
    EXPECT_EQ(sink->stats().images_written, 15U);
  }
  EXPECT_GT(with.stats().bytes_stored, without.stats().bytes_stored);
  EXPECT_EQ(with.stats().bytes_written, without.stats().bytes_written);
  fs::remove(file("tables.h5"));
  EXPECT_EQ(with.settle().size(), 15U);
  EXPECT_EQ(with.stats().images_written, 0U);
}

}  // namespace
}  // namespace rashpa::sink
