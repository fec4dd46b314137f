// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/device/longest_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace rashpa::kernel::azimuthal {
namespace {

/// The most pixels that a word gets of any run of that length that begins where runs may begin. Image `i` of `together`
/// has lanes from i · 32 / together on; each takes eight pixels, its warp and the others those that follow.
std::uint32_t most_in_a_word(const std::vector<std::uint16_t>& bin_of, std::uint32_t bins, std::uint32_t run,
                             std::uint32_t lanes, BinWords words) {
  std::uint32_t most = 0;
  for (std::size_t begin = 0; begin < bin_of.size(); begin += std::size_t{kRunStep} * words.sets) {
    std::vector<std::uint32_t> found(std::size_t{bins} * words.copies * words.sets);
    for (std::size_t pixel = begin; pixel < std::min(begin + run, bin_of.size()); ++pixel) {
      const std::size_t eight = (pixel - begin) / 8, lane = eight % lanes, warp = eight / lanes;
      const std::size_t word = warp % words.sets * words.copies + lane % words.copies;
      if (bin_of[pixel] >= bins) continue;
      most = std::max(most, ++found[bin_of[pixel] * std::size_t{words.copies} * words.sets + word]);
    }
  }
  return most;
}

std::vector<std::uint16_t> rings(std::size_t width, std::size_t height, std::uint32_t bins) {
  std::vector<std::uint16_t> bin_of;
  for (std::size_t pixel = 0; pixel < width * height; ++pixel) {
    const std::size_t column = pixel % width, row = pixel / width;
    const double x = static_cast<double>(column) - 20, y = static_cast<double>(row) - 90;
    const auto bin = static_cast<std::uint32_t>(std::hypot(x, y) / 300 * static_cast<double>(bins));
    bin_of.push_back(static_cast<std::uint16_t>(pixel % 37 == 0 ? bins : std::min(bin, bins)));
  }
  return bin_of;
}

TEST(LongestRun, no_word_gets_more_pixels_than_it_takes_and_a_longer_run_would_give_it_more) {
  std::mt19937 random(11);
  for (const std::uint32_t bins : {1U, 3U, 40U, 400U}) {
    for (const BinWords words : {BinWords{2, 1}, BinWords{8, 1}, BinWords{8, 4}, BinWords{32, 1}, BinWords{32, 32}}) {
      SCOPED_TRACE(testing::Message() << bins << " bins, " << words.copies << " copies, " << words.sets << " sets");
      auto bin_of = rings(248, 200, bins);
      if (bins == 40) std::shuffle(bin_of.begin(), bin_of.end(), random);
      const std::uint32_t run = longest_run(bin_of, bins, words);
      const std::uint32_t step = kRunStep * words.sets;
      EXPECT_GE(run, step);
      EXPECT_EQ(run % step, 0U);
      // With several sets all words of a set belong to the lanes of an image.
      std::uint32_t lanes = words.sets > 1 ? words.copies : 32;
      for (; lanes >= words.copies; lanes /= 2) {
        EXPECT_LE(most_in_a_word(bin_of, bins, run, lanes, words), kMostOfWord) << lanes;
      }
      if (run >= bin_of.size()) continue;
      // Runs may begin at other places than those that this one is for: by one step more it need not be too long yet.
      EXPECT_GT(most_in_a_word(bin_of, bins, 2 * run + step, words.copies, words), kMostOfWord);
    }
  }
}

TEST(LongestRun, an_image_of_which_words_take_all_is_one_run) {
  const std::vector<std::uint16_t> one_each(512, 0);
  EXPECT_EQ(longest_run(one_each, 1, {32, 1}), 512U);
  const std::vector<std::uint16_t> in_none(8192, 7);
  EXPECT_EQ(longest_run(in_none, 7, {2, 1}), 8192U);
}

TEST(LongestRun, fewer_images_together_are_safe_by_the_run_of_more) {
  const auto bin_of = rings(248, 200, 30);
  const std::uint32_t run = longest_run(bin_of, 30, {8, 4});
  EXPECT_LE(most_in_a_word(bin_of, 30, run, 16, {16, 4}), kMostOfWord);
  EXPECT_LE(most_in_a_word(bin_of, 30, run, 32, {32, 4}), kMostOfWord);
}

}  // namespace
}  // namespace rashpa::kernel::azimuthal
