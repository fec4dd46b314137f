// SPDX-License-Identifier: Apache-2.0
#include "rashpa/offline/recorder.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"

namespace rashpa::offline {
namespace {

constexpr std::uint32_t kWidth = 20;
constexpr std::uint32_t kHeight = 10;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

/// Image i has i bright pixels.
std::vector<std::uint16_t> images(std::size_t first, std::size_t count) {
  std::vector<std::uint16_t> pixels(count * kPixels);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t n = 0; n < first + i; ++n) pixels[i * kPixels + n] = 9;
  }
  return pixels;
}

Images view(const std::vector<std::uint16_t>& pixels) {
  return {.first = reinterpret_cast<const std::byte*>(pixels.data()),
          .stride = kPixels * sizeof(std::uint16_t),
          .count = pixels.size() / kPixels};
}

/// Remembers what it is given; keeps each stack until the one after it comes, and cannot store image `lost`.
class Notebook final : public sink::Sink {
 public:
  struct Page {
    std::vector<std::uint64_t> indices{};
    bool begun = false;
    Books books{};
  };
  Notebook(Page& page, std::uint64_t lost) : page_(page), lost_(lost) {}
  void begin() override { page_.begun = true; }
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override {
    for (std::size_t i = 0; i < stack.view().size(); ++i) {
      const StackImage& image = stack.view()[i];
      if (image.decision != Decision::accepted) continue;
      if (image.index == lost_) {
        results[i] = ErrorReason::storage;
      } else {
        page_.indices.push_back(image.index);
      }
    }
    return sink::Put::done;
  }
  void close(const Books& books) override { page_.books = books; }
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {.images_written = page_.indices.size()}; }
  [[nodiscard]] std::string error() const override { return lost_ < 1000 ? "no room" : ""; }

 private:
  Page& page_;
  std::uint64_t lost_;
};

receiver::BufferConfig config(Notebook::Page& page, std::uint64_t count, std::uint64_t lost = 1000) {
  receiver::BufferConfig config;
  config.name = "all";
  config.width = kWidth;
  config.height = kHeight;
  config.slots = 8;
  config.stack = 4;
  config.images = count;
  config.pipeline.kernels = {kernel::bragg_count::Config{.threshold = 5, .min_pixels = 3}};
  config.unit.cores.threads = 2;
  config.sinks = {receiver::SinkConfig([&page, lost](const sink::Output&) -> std::unique_ptr<sink::Sink> {
    return std::make_unique<Notebook>(page, lost);
  })};
  return config;
}

TEST(Recorder, images_of_several_calls_are_one_run) {
  Notebook::Page page;
  Recorder recorder(config(page, 43), 7);
  recorder.begin();
  EXPECT_TRUE(page.begun);
  recorder.process(view(images(0, 20)));
  recorder.process(view(images(20, 20)));
  recorder.process(view(images(40, 3)));
  recorder.finish();
  ASSERT_EQ(page.indices.size(), 40U);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(page.indices[i], i + 3);
  const receiver::BufferStatus status = recorder.status();
  EXPECT_TRUE(status.books.balanced());
  EXPECT_EQ(status.books.expected, 43U);
  EXPECT_EQ(status.books.vetoed, 3U);
  EXPECT_EQ(status.books.written, 40U);
  EXPECT_EQ(page.books, status.books);
  EXPECT_EQ(status.vetoes[0].name, "too_few");
  EXPECT_EQ(status.vetoes[0].images, 3U);
}

TEST(Recorder, what_a_sink_loses_is_errored) {
  Notebook::Page page;
  Recorder recorder(config(page, 12, 5), 1);
  recorder.begin();
  recorder.process(view(images(0, 12)));
  recorder.finish();
  const receiver::BufferStatus status = recorder.status();
  EXPECT_TRUE(status.books.balanced());
  EXPECT_EQ(status.books.errored, 1U);
  ASSERT_TRUE(status.first_errored);
  EXPECT_EQ(status.first_errored->index, 5U);
  EXPECT_EQ(status.first_errored->text, "no room");
}

TEST(Recorder, images_that_never_come_are_missing) {
  Notebook::Page page;
  Recorder recorder(config(page, 12), 1);
  recorder.begin();
  recorder.process(view(images(0, 8)));
  recorder.finish();
  EXPECT_EQ(recorder.status().books.missing, 4U);
  EXPECT_TRUE(recorder.status().books.balanced());
}

TEST(Recorder, more_images_than_announced_are_refused) {
  Notebook::Page page;
  Recorder recorder(config(page, 12), 1);
  EXPECT_THROW(recorder.process(view(images(0, 4))), ConfigError);  // not begun
  recorder.begin();
  EXPECT_THROW(recorder.process(view(images(0, 16))), ConfigError);
  recorder.process(view(images(0, 3)));
  EXPECT_THROW(recorder.process(view(images(0, 4))), ConfigError);  // the images were no whole stack
}

}  // namespace
}  // namespace rashpa::offline
