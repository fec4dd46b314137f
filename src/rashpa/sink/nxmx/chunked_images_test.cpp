// SPDX-License-Identifier: Apache-2.0
/// Images of a unit that has made their chunks: the file has these bytes, and reads as the pixels.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/kernel/bitshuffle_lz4/runs_testing.hpp"
#include "rashpa/sink/factory.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kWidth = 131, kHeight = 67;  // several blocks, and a rest of fewer than eight elements
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

/// Image n of a run: photons, nothing or noise; every third one is vetoed.
struct Made {
  explicit Made(std::uint64_t n) : pixels(kPixels) {
    std::mt19937 random(static_cast<std::uint32_t>(n) + 1);
    for (auto& pixel : pixels) {
      const auto dice = random();
      if (n % 4 != 0) pixel = static_cast<std::int16_t>(n % 4 == 1 ? dice : dice % 9 == 0 ? dice / 9 % 40 : 0);
    }
    chunk = kernel::bitshuffle_lz4::chunk_of_runs(std::as_bytes(std::span(pixels)), sizeof(std::int16_t));
  }
  std::vector<std::int16_t> pixels;
  Bytes chunk;
};

class ChunkedImages : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint64_t n = 0; n < 12; ++n) made_.emplace_back(n);
  }

  [[nodiscard]] Hdf5Options options() const { return {.prefix = (folder_ / "run").string()}; }
  [[nodiscard]] static Output output() {
    return {.buffer = "full",
            .width = kWidth,
            .height = kHeight,
            .pixel = PixelType::i16,
            .stack = 4,
            .images = 12,
            .chunked = true};
  }
  [[nodiscard]] static bool is_accepted(std::uint64_t n) { return n % 3 != 2; }
  [[nodiscard]] Stack stack(std::uint64_t first) const {
    Stack stack;
    for (std::uint64_t n = first; n < first + 4; ++n) {
      StackImage image;
      image.index = n;
      image.frame_number = n;
      image.completeness = Completeness::complete;
      image.decision = is_accepted(n) ? Decision::accepted : Decision::vetoed;
      if (is_accepted(n)) image.chunk = made_[n].chunk;
      stack.images.push_back(image);
    }
    stack.count = 4;
    return stack;
  }
  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  std::vector<Made> made_;
};

TEST_F(ChunkedImages, are_stored_byte_for_byte_and_read_as_their_pixels) {
  const auto sink = make_sink(options(), output());
  std::size_t bytes = 0;
  std::vector<std::int16_t> expected;
  std::vector<Bytes> chunks;
  for (std::uint64_t first = 0; first < 12; first += 4) {
    Stack one = stack(first);
    put_and_mark(*sink, one);
    for (const StackImage& image : one.view()) {
      EXPECT_NE(image.decision, Decision::errored) << sink->error();
      if (image.decision != Decision::accepted) continue;
      const Made& made = made_[image.index];
      expected.insert(expected.end(), made.pixels.begin(), made.pixels.end());
      chunks.push_back(made.chunk);
      bytes += made.chunk.size();
    }
  }
  EXPECT_TRUE(sink->settle().empty());
  sink->close({});
  EXPECT_EQ(sink->error(), "");
  EXPECT_EQ(sink->stats().images_written, 8U);
  EXPECT_EQ(sink->stats().bytes_written, 8U * kPixels * 2);
  EXPECT_EQ(sink->stats().bytes_stored, bytes);

  const hid_t file = H5Fopen((folder_ / "run_data_000001.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
  ASSERT_GE(set, 0);
  std::vector<std::int16_t> pixels(expected.size());
  EXPECT_GE(H5Dread(set, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels.data()), 0);
  EXPECT_EQ(pixels, expected);
  for (hsize_t n = 0; n < chunks.size(); ++n) {
    const hsize_t at[3] = {n, 0, 0};
    hsize_t size = 0;
    ASSERT_GE(H5Dget_chunk_storage_size(set, at, &size), 0);
    Bytes chunk(size);
    std::uint32_t mask = 0;
    ASSERT_GE(H5Dread_chunk(set, H5P_DEFAULT, at, &mask, chunk.data()), 0);
    EXPECT_EQ(chunk, chunks[n]);
  }
  H5Dclose(set);
  H5Fclose(file);
}

TEST_F(ChunkedImages, one_whose_chunk_is_none_or_of_another_image_is_not_stored_and_the_others_are) {
  const auto sink = make_sink(options(), output());
  Stack one = stack(0);
  const Bytes other = kernel::bitshuffle_lz4::chunk_of_runs(Bytes(64), sizeof(std::int16_t));
  one.images[0].chunk = other;
  one.images[1].chunk = {};
  one.images[2].decision = Decision::vetoed;
  put_and_mark(*sink, one);
  EXPECT_EQ(one.images[0].error, ErrorReason::storage);
  EXPECT_EQ(one.images[1].error, ErrorReason::storage);
  EXPECT_EQ(one.images[3].decision, Decision::accepted);
  EXPECT_NE(sink->error().find("frame 0: its chunk holds 64 bytes of pixels"), std::string::npos) << sink->error();
  EXPECT_EQ(sink->stats().images_written, 1U);
}

TEST(ReadsPixels, who_stores_chunks_or_nothing_needs_none) {
  EXPECT_FALSE(reads_pixels(Hdf5Options{}));
  EXPECT_FALSE(reads_pixels(Stream2Options{}));
  EXPECT_FALSE(reads_pixels(NullOptions{}));
  EXPECT_TRUE(reads_pixels(Hdf5Options{.prefix = {}, .compress = Compress::host}));
  EXPECT_TRUE(reads_pixels(RawOptions{}));
  EXPECT_TRUE(reads_pixels(MemoryOptions{}));
}

}  // namespace
}  // namespace rashpa::sink
