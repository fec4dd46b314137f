// SPDX-License-Identifier: Apache-2.0
/// Windows of accumulations: which images they hold, when they end, whose memory they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/factory.hpp"

namespace rashpa::unit {
namespace {

namespace accumulate = kernel::accumulate;

constexpr std::uint32_t kWidth = 131, kHeight = 67, kPixels = kWidth * kHeight, kStack = 5, kStacks = 3;

struct Images {
  explicit Images(std::uint32_t images, std::uint32_t seed = 1) : pixels(images, std::vector<std::uint16_t>(kPixels)) {
    std::mt19937 random(seed);
    for (auto& image : pixels) {
      for (auto& pixel : image) pixel = random() % 50 == 0 ? 65535 : static_cast<std::uint16_t>(random() % 6);
    }
  }
  std::vector<std::vector<std::uint16_t>> pixels;

  /// The sum of those images.
  [[nodiscard]] std::vector<std::int64_t> sum(const std::vector<std::uint64_t>& images) const {
    std::vector<std::int64_t> all(kPixels);
    for (const std::uint64_t i : images) {
      for (std::size_t p = 0; p < kPixels; ++p) all[p] += pixels[i][p] == 65535 ? 0 : pixels[i][p];
    }
    return all;
  }
};

struct Window {
  std::uint64_t window, first, end, images;
  std::vector<std::int64_t> sum;
};

/// Every stack of the run, one after the other; windows as the sinks would see them. Images of `darks` are darks.
std::vector<Window> windows_of(const Pipeline& pipeline, Images& run, unsigned threads,
                               const std::vector<std::uint64_t>& darks = {},
                               std::vector<std::uint64_t>* accepted = nullptr) {
  Doorbell bell;
  const auto unit =
      make_unit({.cores = {threads, -1}}, pipeline, {kWidth, kHeight, PixelType::u16, kStack, kStacks}, bell);
  std::vector<Window> all;
  const auto keep = [&](const AccumulatedView& view) {
    if (!view.ended()) return;
    const auto* sum = reinterpret_cast<const std::int64_t*>(view.values[0]);
    all.push_back({view.window, view.first, view.end, view.images, {sum, sum + kPixels}});
  };
  for (std::uint64_t first = 0; first < run.pixels.size(); first += kStack) {
    Stack stack;
    stack.number = first / kStack;
    stack.slot = static_cast<std::uint32_t>(stack.number % kStacks);
    stack.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(kStack, run.pixels.size() - first));
    stack.images.resize(kStack);
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      stack.images[i].index = first + i;
      stack.images[i].completeness = Completeness::complete;
      stack.images[i].raw = reinterpret_cast<std::byte*>(run.pixels[first + i].data());
      if (std::find(darks.begin(), darks.end(), first + i) != darks.end()) stack.images[i].flags = FrameRecord::dark;
    }
    unit->submit(&stack);
    for (std::uint32_t seen = bell.count(); unit->take() == nullptr; seen = bell.count()) {
      bell.wait(seen, std::chrono::milliseconds(100));
    }
    for (const StackImage& image : stack.view()) {
      if (accepted != nullptr && image.decision == Decision::accepted) accepted->push_back(image.index);
    }
    keep(stack.accumulated[0]);
  }
  keep(concluded(*unit)[0]);
  EXPECT_FALSE(concluded(*unit)[0].ended()) << "nothing is open any more";
  return all;
}

std::vector<std::uint64_t> part(const std::vector<std::uint64_t>& all, std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint64_t> found;
  for (const std::uint64_t one : all) {
    if (one >= first && one < end) found.push_back(one);
  }
  return found;
}

TEST(Accumulations, the_run_is_one_window_that_its_end_ends) {
  Images run(23);
  for (const unsigned threads : {1U, 2U, 5U}) {
    std::vector<std::uint64_t> accepted;
    const auto windows = windows_of({.kernels = {accumulate::Config{}}}, run, threads, {4, 5, 6}, &accepted);
    ASSERT_EQ(windows.size(), 1U);
    EXPECT_EQ(accepted.size(), 20U);
    EXPECT_EQ(windows[0].images, 20U);
    EXPECT_EQ(windows[0].first, 0U);
    EXPECT_EQ(windows[0].end, 23U);
    EXPECT_EQ(windows[0].sum, run.sum(accepted));
  }
}

TEST(Accumulations, windows_hold_what_was_accepted_of_their_images) {
  Images run(38);
  const kernel::total_counts::Config most{.max_counts = 21'500};
  std::vector<std::uint64_t> accepted;
  const auto windows = windows_of({.kernels = {most, accumulate::Config{.window = 10}}}, run, 2,
                                  {10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, &accepted);
  EXPECT_GT(accepted.size(), 3U);
  EXPECT_LT(accepted.size(), 28U);
  ASSERT_EQ(windows.size(), 4U);
  for (std::uint64_t w = 0; w < 4; ++w) {
    const auto images = part(accepted, w * 10, w * 10 + 10);
    EXPECT_EQ(windows[w].window, w);
    EXPECT_EQ(windows[w].first, w * 10);
    EXPECT_EQ(windows[w].end, std::min<std::uint64_t>(w * 10 + 10, 38));
    EXPECT_EQ(windows[w].images, images.size());
    EXPECT_EQ(windows[w].sum, run.sum(images)) << w;
  }
  EXPECT_EQ(windows[1].images, 0U) << "a window of darks ends as any other";
}

TEST(Accumulations, images_that_are_vetoed_behind_it_count_when_asked_for) {
  Images run(10);
  const kernel::total_counts::Config none{.max_counts = 0};
  const accumulate::Config all{.images = accumulate::Images::reached};
  const auto windows = windows_of({.kernels = {all, none}}, run, 2);
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].images, 10U);
}

TEST(Accumulations, what_can_refuse_an_image_stands_before) {
  Images run(5);
  const kernel::total_counts::Config veto{};
  const kernel::csr::Config list{1, 1.0};
  EXPECT_THROW(windows_of({.kernels = {accumulate::Config{}, veto}}, run, 1), ConfigError);
  EXPECT_THROW(windows_of({.kernels = {accumulate::Config{}, list}}, run, 1), ConfigError);
  EXPECT_EQ(windows_of({.kernels = {veto, list, accumulate::Config{}}}, run, 1).size(), 1U);
}

TEST(Accumulations, a_window_is_a_whole_number_of_stacks) {
  Images run(5);
  EXPECT_THROW(windows_of({.kernels = {accumulate::Config{.window = 7}}}, run, 1), ConfigError);
}

TEST(Accumulations, windows_stay_while_their_stacks_are_out) {
  Images run(kStack * kStacks);
  Doorbell bell;
  const auto unit = make_unit({.cores = {2, -1}}, {.kernels = {accumulate::Config{.window = kStack}}},
                              {kWidth, kHeight, PixelType::u16, kStack, kStacks}, bell);
  std::vector<Stack> stacks(kStacks);
  for (std::uint32_t s = 0; s < kStacks; ++s) {
    stacks[s].number = stacks[s].slot = s;
    stacks[s].count = kStack;
    stacks[s].images.resize(kStack);
    for (std::uint32_t i = 0; i < kStack; ++i) {
      stacks[s].images[i].completeness = Completeness::complete;
      stacks[s].images[i].raw = reinterpret_cast<std::byte*>(run.pixels[s * kStack + i].data());
    }
    unit->submit(&stacks[s]);
  }
  for (std::uint32_t taken = 0; taken < kStacks;) {
    const std::uint32_t seen = bell.count();
    if (unit->take() != nullptr) {
      ++taken;
    } else {
      bell.wait(seen, std::chrono::milliseconds(100));
    }
  }
  for (std::uint64_t s = 0; s < kStacks; ++s) {
    const AccumulatedView& view = stacks[s].accumulated[0];
    ASSERT_TRUE(view.ended());
    const auto* sum = reinterpret_cast<const std::int64_t*>(view.values[0]);
    const std::uint64_t first = s * kStack;
    EXPECT_EQ((std::vector<std::int64_t>{sum, sum + kPixels}),
              run.sum({first, first + 1, first + 2, first + 3, first + 4}));
  }
}

}  // namespace
}  // namespace rashpa::unit
