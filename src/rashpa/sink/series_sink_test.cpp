// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/series_sink.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/core/testing/testing.hpp"

namespace rashpa::sink {
namespace {

/// The calls of series' sinks, for the test to read when they are done.
struct Seen {
  std::vector<std::uint64_t> images;
  bool begun = false;
  int cannot_begin = 0;  // so many times
  std::optional<Books> books;
};

class Recording final : public Sink, public RowKeeping {
 public:
  Recording(Seen& seen, std::uint64_t lost, std::atomic<bool>* hold) : seen_(&seen), lost_(lost), hold_(hold) {}
  void begin() override {
    if (seen_->cannot_begin > 0) {
      --seen_->cannot_begin;
      throw FileError("no name");
    }
    seen_->begun = true;
  }
  Put put(const Stack& stack, std::span<ErrorReason> /*results*/) override {
    for (const StackImage& image : stack.view()) {
      seen_->images.push_back(image.index);
      if (image.decision == Decision::accepted) written_.fetch_add(1);
    }
    return Put::done;
  }
  void skip(std::span<const SkippedImage> images) override {
    for (const SkippedImage& image : images) seen_->images.push_back(image.index);
  }
  std::vector<LostImage> settle() override {
    EXPECT_EVENTUALLY(hold_ == nullptr || !hold_->load());
    if (std::exchange(settled_, true) || lost_ == 0) return {};
    written_.fetch_sub(1);
    return {LostImage{.index = lost_, .frame_number = lost_, .reason = "gone"}};
  }
  void close(const Books& books) override { seen_->books = books; }
  [[nodiscard]] SinkStats stats() const noexcept override { return {.images_written = written_}; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  Seen* seen_;
  std::uint64_t lost_;
  std::atomic<bool>* hold_;
  std::atomic<std::uint64_t> written_{0};
  bool settled_ = false;
};

/// Series of 6 images in stacks of 3; every fifth image is vetoed. `lost`: by series, an image that is not found again.
struct Fixture {
  explicit Fixture(std::uint64_t most = 100, std::map<std::uint64_t, std::uint64_t> gone = {})
      : sink(6, most, [this, gone](std::uint64_t series) {
          if (series == refused) throw FileError("no room");
          const auto found = gone.find(series);
          return std::make_unique<Recording>(seen[series - 1], found == gone.end() ? 0 : found->second,
                                             series == 1 ? &hold : nullptr);
        }) {}
  std::vector<ErrorReason> put(std::uint64_t first) {
    Stack stack;
    stack.count = 3;
    stack.images.resize(3);
    for (std::uint64_t i = 0; i < 3; ++i) {
      stack.images[i].index = first + i;
      stack.images[i].completeness = Completeness::complete;
      stack.images[i].decision = (first + i) % 5 == 4 ? Decision::vetoed : Decision::accepted;
    }
    std::vector<ErrorReason> results(3);
    sink.put(stack, results);
    return results;
  }
  void finish() {
    lost = sink.settle();
    sink.close({});
  }

  std::array<Seen, 100> seen{};
  std::atomic<bool> hold{false};
  std::uint64_t refused = 0;
  std::vector<LostImage> lost;
  SeriesSink sink;  // last: it goes before the members that it uses
};

std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint64_t> all(end - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(SeriesSink, each_series_has_a_sink_with_its_images_and_its_books) {
  Fixture f;
  f.sink.begin();
  for (std::uint64_t first = 0; first < 15; first += 3) f.put(first);
  EXPECT_EQ(f.sink.stats().images_written, 12U);
  f.finish();
  EXPECT_EQ(f.seen[0].images, from_to(0, 6));
  EXPECT_EQ(f.seen[1].images, from_to(6, 12));
  EXPECT_EQ(f.seen[2].images, from_to(12, 15)) << "the run was ended before the series was";
  for (std::size_t series = 0; series < 3; ++series) {
    ASSERT_TRUE(f.seen[series].begun);
    ASSERT_TRUE(f.seen[series].books);
    EXPECT_TRUE(f.seen[series].books->balanced()) << series;
  }
  EXPECT_EQ(*f.seen[0].books, (Books{.expected = 6, .complete = 6, .accepted = 5, .vetoed = 1, .written = 5}));
  EXPECT_EQ(f.seen[2].books->expected, 3U);
  EXPECT_FALSE(f.seen[3].books) << "what never began is not completed";
  EXPECT_FALSE(f.seen[3].begun);
}

TEST(SeriesSink, the_next_series_is_stored_while_the_one_before_is_completed) {
  Fixture f;
  f.hold = true;
  for (std::uint64_t first = 0; first < 12; first += 3) f.put(first);
  EXPECT_FALSE(f.seen[0].books) << "it is still at it";
  EXPECT_EQ(f.seen[1].images, from_to(6, 12));
  EXPECT_EQ(f.sink.stats().images_written, 10U) << "and its images count";
  f.hold = false;
  f.finish();
  EXPECT_TRUE(f.seen[0].books->balanced());
}

TEST(SeriesSink, what_a_series_has_lost_is_said_at_the_end_of_the_run_and_stands_in_its_books) {
  Fixture f(100, {{1, 3}, {2, 8}});
  for (std::uint64_t first = 0; first < 12; first += 3) f.put(first);
  f.finish();
  ASSERT_EQ(f.lost.size(), 2U);
  EXPECT_EQ(f.lost[0].index, 3U);
  EXPECT_EQ(f.lost[1].index, 8U);
  EXPECT_EQ(f.seen[0].books->errored, 1U);
  EXPECT_TRUE(f.seen[0].books->balanced());
  EXPECT_EQ(f.sink.stats().images_written, 8U);
}

TEST(SeriesSink, a_series_of_which_every_stack_was_dropped_has_rows_all_the_same) {
  Fixture f;
  f.put(0);
  for (std::uint64_t first = 3; first < 18; first += 3) {
    const SkippedImage one{.index = first, .completeness = Completeness::complete, .decision = Decision::errored};
    SkippedImage images[3] = {one, one, one};
    for (std::uint64_t i = 0; i < 3; ++i) images[i].index = first + i;
    f.sink.skip(images);
  }
  f.put(18);
  f.finish();
  EXPECT_EQ(f.seen[1].images, from_to(6, 12));
  EXPECT_EQ(*f.seen[1].books, (Books{.expected = 6, .complete = 6, .errored = 6}));
  EXPECT_EQ(f.seen[3].images, from_to(18, 21));
}

TEST(SeriesSink, a_series_that_finds_no_place_loses_its_images_and_is_tried_again) {
  Fixture f;
  f.refused = 3;
  for (std::uint64_t first = 0; first < 12; first += 3) f.put(first);
  EXPECT_THROW(f.put(12), FileError);
  f.refused = 0;
  f.put(15);
  f.finish();
  EXPECT_EQ(f.seen[2].images, from_to(15, 18));
  EXPECT_TRUE(f.seen[1].books->balanced());
}

TEST(SeriesSink, a_series_that_cannot_begin_leaves_the_one_before_as_it_was_and_is_tried_again) {
  Fixture f;
  f.seen[2].cannot_begin = 2;
  for (std::uint64_t first = 0; first < 12; first += 3) f.put(first);
  EXPECT_THROW(f.put(12), FileError);
  const std::array<SkippedImage, 3> dropped{SkippedImage{.index = 15}, {.index = 16}, {.index = 17}};
  EXPECT_THROW(f.sink.skip(dropped), FileError);
  f.put(18);
  f.finish();
  EXPECT_EQ(f.seen[1].images, from_to(6, 12));
  EXPECT_TRUE(f.seen[2].begun);
  EXPECT_EQ(f.seen[3].images, from_to(18, 21));
  for (const std::size_t series : {0U, 1U, 3U}) EXPECT_TRUE(f.seen[series].books->balanced()) << series;
}

TEST(SeriesSink, no_more_series_are_made_than_can_come) {
  Fixture f(2);
  for (std::uint64_t first = 0; first < 12; first += 3) f.put(first);
  f.finish();
  EXPECT_FALSE(f.seen[2].begun);
  EXPECT_THROW(SeriesSink(0, 1, [](std::uint64_t) { return nullptr; }), ConfigError);
}

}  // namespace
}  // namespace rashpa::sink
