// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What tests of a whole chain check: every pixel that is written, and the books against the injector's log.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <span>

#include "chain.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"

namespace rashpa::chain {

/// Compares every pixel that reaches it with the pattern that was sent; lost lines must hold the lost value.
class CheckingSink final : public sink::Sink {
 public:
  CheckingSink(const receiver::Output& output, std::uint32_t module_height)
      : width_(output.width), height_(output.height), module_height_(module_height) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    static_cast<void>(results);
    for (const StackImage& image : stack.view()) {
      if (image.decision == Decision::accepted) check(image);
    }
    return sink::Put::done;
  }
  void close(const Books&) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override {
    return {.images_written = images_, .bytes_written = 0, .bytes_stored = 0};
  }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  void check(const StackImage& image) {
    std::vector<std::uint16_t> pixels(static_cast<std::size_t>(width_) * height_);
    std::memcpy(pixels.data(), image.pixels, pixels.size() * 2);
    for (std::uint32_t row = 0; row < height_; ++row) {
      const std::uint32_t module = row / module_height_;
      const std::uint32_t line = row % module_height_;
      bool lost = false;
      for (const LostRun& run : image.lost_runs()) {
        lost = lost || (run.dtp == module && line >= run.first_line && line < run.first_line + run.lines);
      }
      for (std::uint32_t column = 0; column < width_; ++column) {
        const std::uint32_t expected =
            lost ? 0xFFFFU : dataset::pattern_value(PixelType::u16, module, image.frame_number % 8, line, column);
        ASSERT_EQ(pixels[row * width_ + column], expected)
            << "frame " << image.frame_number << " row " << row << " column " << column;
      }
    }
    ++images_;
  }
  std::uint32_t width_, height_, module_height_;
  std::atomic<std::uint64_t> images_{0};
};

/// The same plan with a sink that checks.
inline Plan checked(Plan plan = {}) {
  const std::uint32_t height = plan.height;
  plan.sinks.emplace_back(
      [height](const receiver::Output& output) { return std::make_unique<CheckingSink>(output, height); });
  return plan;
}

/// The receiver's completeness of each image is what `log` says.
inline void expect_books_equal(const Chain& chain, const std::vector<Completeness>& log) {
  const std::vector<Completeness> found = chain.receiver->completeness(0);
  ASSERT_EQ(found.size(), log.size());
  std::size_t unexplained = 0;
  for (std::size_t image = 0; image < log.size(); ++image) {
    if (found[image] != log[image] && ++unexplained <= 5) {
      ADD_FAILURE() << "image " << image << ": found " << static_cast<int>(found[image]) << ", lost "
                    << static_cast<int>(log[image]);
    }
  }
  EXPECT_EQ(unexplained, 0U);
  const Books books = chain.receiver->status().buffers[0].books;
  EXPECT_TRUE(books.balanced());
  EXPECT_EQ(books.expected, log.size());
}

/// The same with the injector's log.
inline void expect_books_equal_the_log(const Chain& chain) { expect_books_equal(chain, chain.fates()); }

}  // namespace rashpa::chain
