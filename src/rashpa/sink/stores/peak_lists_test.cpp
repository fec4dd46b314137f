// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stores/peak_lists.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSide = 8;

template <typename T>
std::vector<T> read(hid_t file, const std::string& path, hid_t type) {
  const hid_t set = H5Dopen2(file, path.c_str(), H5P_DEFAULT);
  EXPECT_GE(set, 0) << path;
  const hid_t space = H5Dget_space(set);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_GE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << path;
  H5Sclose(space);
  H5Dclose(set);
  return values;
}

class PeakListsTest : public testing::Test {
 protected:
  void SetUp() override {
    config_.prefix = (folder_ / "run").string();
    config_.width = config_.height = kSide;
    config_.images = 8;
    constexpr auto kReal = Column::Type::f64;
    config_.results.tables = {{"other", {{.name = "n"}}, 3},
                              {"found",
                               {{.name = "x", .type = kReal},
                                {.name = "y", .type = kReal},
                                {.name = "intensity", .type = kReal},
                                {.name = "pixels"}},
                               5000}};
  }

  /// Image i has peaks[i] peaks; those of which it is less than 0 are vetoed, with a peak.
  hid_t play(const std::vector<int>& peaks) {
    const std::vector<std::uint16_t> pixels(std::size_t{kSide} * kSide);
    const std::vector<Scalar> other(1, Scalar::of_count(7));
    {
      Hdf5Sink sink(config_);
      Stack stack;
      std::vector<std::vector<Scalar>> rows;
      for (std::size_t i = 0; i < peaks.size(); ++i) {
        StackImage& image = stack.images.emplace_back();
        image.index = image.frame_number = i;
        image.completeness = Completeness::complete;
        image.decision = peaks[i] < 0 ? Decision::vetoed : Decision::accepted;
        image.pixels = reinterpret_cast<const std::byte*>(pixels.data());
        std::vector<Scalar>& values = rows.emplace_back();
        const auto count = static_cast<std::uint32_t>(peaks[i] < 0 ? 1 : peaks[i]);
        for (std::uint32_t row = 0; row < count; ++row) {
          const double at = 100.0 * static_cast<double>(i) + row;
          values.insert(values.end(), {Scalar::of_real(at + 0.25), Scalar::of_real(at + 0.5), Scalar::of_real(2 * at),
                                       Scalar::of_count(row + 1)});
        }
        image.tables[0] = {other.data(), 1};
        image.tables[1] = {values.data(), count};
      }
      stack.count = static_cast<std::uint32_t>(stack.images.size());
      put_and_mark(sink, stack);
      EXPECT_TRUE(sink.settle().empty());
      if (without_tables_) fs::remove(config_.prefix + "_tables.h5");
      sink.close({});
      error_ = sink.error();
    }
    return H5Fopen((config_.prefix + "_master.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  Hdf5Config config_;
  bool without_tables_ = false;  // they are gone when the master is completed
  std::string error_;            // of the sink
};

TEST_F(PeakListsTest, stored_images_have_their_peaks_in_the_master) {
  const hid_t file = play({2, 0, -1, 3});
  ASSERT_GE(file, 0);
  const std::string group = "/entry/result_1/";
  EXPECT_EQ(read<int>(file, group + "nPeaks", H5T_NATIVE_INT), (std::vector<int>{2, 0, 3}));
  EXPECT_EQ(read<float>(file, group + "peakXPosRaw", H5T_NATIVE_FLOAT),
            (std::vector<float>{0.25, 1.25, 0, 0, 0, 0, 300.25, 301.25, 302.25}));
  EXPECT_EQ(read<float>(file, group + "peakYPosRaw", H5T_NATIVE_FLOAT)[8], 302.5F);
  EXPECT_EQ(read<float>(file, group + "peakTotalIntensity", H5T_NATIVE_FLOAT)[7], 602);
  EXPECT_EQ(read<float>(file, group + "peakNPixels", H5T_NATIVE_FLOAT)[1], 2);
  EXPECT_EQ(H5Lexists(file, "/entry/result_1/peakSNR", H5P_DEFAULT), 0) << "the table has none";
  EXPECT_EQ(H5Lexists(file, "/entry/result_2", H5P_DEFAULT), 0) << "the other table has no peaks";
  EXPECT_EQ(error_, "");
  H5Fclose(file);
}

TEST_F(PeakListsTest, a_master_that_cannot_have_them_is_complete_without_and_says_so) {
  without_tables_ = true;
  const hid_t file = play({2, 1});
  ASSERT_GE(file, 0);
  EXPECT_EQ(H5Lexists(file, "/entry/result_1", H5P_DEFAULT), 0);
  EXPECT_GT(H5Lexists(file, "/entry/rashpa", H5P_DEFAULT), 0);
  EXPECT_TRUE(error_.starts_with("the master is without lists of peaks: ")) << error_;
  H5Fclose(file);
}

TEST_F(PeakListsTest, many_peaks_are_more_than_a_chunk) {
  const hid_t file = play({4999, 1});
  ASSERT_GE(file, 0);
  const auto x = read<float>(file, "/entry/result_1/peakXPosRaw", H5T_NATIVE_FLOAT);
  ASSERT_EQ(x.size(), 2 * 4999U);
  EXPECT_EQ(x[4998], 4998.25F);
  EXPECT_EQ(x[4999], 100.25F);
  EXPECT_EQ(x[5000], 0);
  H5Fclose(file);
}

TEST_F(PeakListsTest, images_without_peaks_have_room_for_none) {
  const hid_t file = play({0, 0});
  ASSERT_GE(file, 0);
  EXPECT_EQ(read<int>(file, "/entry/result_1/nPeaks", H5T_NATIVE_INT), (std::vector<int>{0, 0}));
  EXPECT_EQ(read<float>(file, "/entry/result_1/peakXPosRaw", H5T_NATIVE_FLOAT), (std::vector<float>{0, 0}));
  H5Fclose(file);
}

TEST_F(PeakListsTest, without_stored_images_the_lists_are_empty) {
  const hid_t file = play({-1, -1});
  ASSERT_GE(file, 0);
  EXPECT_TRUE(read<int>(file, "/entry/result_1/nPeaks", H5T_NATIVE_INT).empty());
  H5Fclose(file);
}

}  // namespace
}  // namespace rashpa::sink
