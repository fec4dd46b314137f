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
  int cannot_begin = 0;  // number of times
  std::optional<Books> books;
  std::string cannot_close, error;
  std::optional<std::uint64_t> refused;  // an image that cannot be stored
  bool is_later = false;
  int windows = 0;
};

class Recording final : public Sink, public RowKeeping, public WindowKeeping {
 public:
  Recording(Seen& seen, std::uint64_t lost, std::atomic<bool>* hold) : seen_(&seen), lost_(lost), hold_(hold) {}
  void begin() override {
    if (seen_->cannot_begin > 0) {
      --seen_->cannot_begin;
      throw FileError("no name");
    }
    seen_->begun = true;
  }
  Put put(const Stack& stack, std::span<ErrorReason> results) override {
    if (seen_->is_later) return Put::later;
    for (std::size_t i = 0; i < stack.view().size(); ++i) {
      const StackImage& image = stack.view()[i];
      seen_->images.push_back(image.index);
      if (image.index == seen_->refused) {
        results[i] = ErrorReason::storage;
      } else if (image.decision == Decision::accepted) {
        written_.fetch_add(1);
      }
    }
    return Put::done;
  }
  void put_windows(const Accumulated& /*accumulated*/) override { ++seen_->windows; }
  void skip(std::span<const SkippedImage> images) override {
    for (const SkippedImage& image : images) seen_->images.push_back(image.index);
  }
  std::vector<LostImage> settle() override {
    EXPECT_EVENTUALLY(hold_ == nullptr || !hold_->load());
    if (std::exchange(settled_, true) || lost_ == 0) return {};
    written_.fetch_sub(1);
    return {LostImage{.index = lost_, .frame_number = lost_, .reason = "gone"}};
  }
  void close(const Books& books) override {
    seen_->books = books;
    if (!seen_->cannot_close.empty()) throw FileError(seen_->cannot_close);
  }
  [[nodiscard]] SinkStats stats() const noexcept override {
    return {.images_written = written_, .bytes_written = 10 * written_, .bytes_stored = 3 * written_};
  }
  [[nodiscard]] std::string error() const override { return seen_->error; }

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
          made.push_back(series);
          const auto found = gone.find(series);
          return std::make_unique<Recording>(seen[series - 1], found == gone.end() ? 0 : found->second,
                                             series == 1 ? &hold : nullptr);
        }) {}
  std::vector<ErrorReason> put(std::uint64_t first, Completeness third = Completeness::complete) {
    Stack stack;
    stack.count = 3;
    stack.images.resize(3);
    for (std::uint64_t i = 0; i < 3; ++i) {
      stack.images[i].index = first + i;
      stack.images[i].completeness = i == 2 ? third : Completeness::complete;
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
  std::vector<std::uint64_t> made;  // series, in order
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
  EXPECT_EQ(f.made, from_to(1, 3));
  EXPECT_EQ(Fixture(1).made, from_to(1, 2));
  EXPECT_EQ(Fixture(2).made, from_to(1, 3)) << "the next is ready before it is needed";
  Fixture longer;
  longer.put(6);
  longer.finish();
  EXPECT_EQ(longer.made, from_to(1, 4));
  EXPECT_THROW(SeriesSink(0, 1, [](std::uint64_t) { return nullptr; }), ConfigError);
}

TEST(SeriesSink, books_of_a_series_have_each_image_by_its_fate) {
  Fixture f;
  f.seen[0].refused = 3;
  f.put(0, Completeness::partial);
  f.put(3, Completeness::missing);  // of which image 4 is vetoed
  f.put(6);
  const std::array<SkippedImage, 3> dropped{
      SkippedImage{.index = 9, .completeness = Completeness::partial, .decision = Decision::vetoed},
      {.index = 10, .completeness = Completeness::missing, .decision = Decision::none},
      {.index = 11, .completeness = Completeness::complete, .decision = Decision::accepted}};
  f.sink.skip(dropped);
  f.sink.skip({});
  f.finish();
  EXPECT_EQ(*f.seen[0].books, (Books{.expected = 6,
                                     .complete = 4,
                                     .partial = 1,
                                     .missing = 1,
                                     .accepted = 4,
                                     .vetoed = 1,
                                     .errored = 1,
                                     .written = 4}));
  EXPECT_EQ(
      *f.seen[1].books,
      (Books{.expected = 6, .complete = 4, .partial = 1, .missing = 1, .accepted = 4, .vetoed = 1, .written = 3}));
}

TEST(SeriesSink, bytes_of_all_series_count_once) {
  Fixture f;
  f.hold = true;
  for (std::uint64_t first = 0; first < 9; first += 3) f.put(first);
  for (const bool held : {true, false}) {
    f.hold = held;
    if (!held) f.finish();
    const SinkStats stats = f.sink.stats();
    EXPECT_EQ(stats.images_written, 8U) << held;
    EXPECT_EQ(stats.bytes_written, 80U) << held;
    EXPECT_EQ(stats.bytes_stored, 24U) << held;
  }
}

TEST(SeriesSink, a_series_that_cannot_be_completed_is_said_at_the_end_and_the_first_one_at_that) {
  Fixture f;
  f.seen[0].cannot_close = "no room for the first";
  f.seen[1].cannot_close = "no room for the second";
  for (std::uint64_t first = 0; first < 15; first += 3) f.put(first);
  f.sink.settle();
  try {
    f.sink.close({});
    FAIL() << "it is said";
  } catch (const FileError& error) {
    EXPECT_STREQ(error.what(), "no room for the first");
  }
  EXPECT_TRUE(f.seen[2].books) << "the last series is completed nevertheless";
  EXPECT_NO_THROW(f.sink.close({})) << "once";
}

TEST(SeriesSink, the_first_error_of_any_series_stands) {
  Fixture f;
  EXPECT_EQ(f.sink.error(), "");
  f.seen[0].error = "an image of the first";
  EXPECT_EQ(f.sink.error(), "an image of the first");
  f.seen[1].error = "an image of the second";
  for (std::uint64_t first = 0; first < 15; first += 3) f.put(first);
  f.finish();
  EXPECT_EQ(f.sink.error(), "an image of the first");
}

TEST(SeriesSink, why_the_next_series_has_no_place_is_said_before_it_is_needed) {
  Fixture f;
  f.refused = 3;
  for (std::uint64_t first = 0; first < 9; first += 3) f.put(first);
  EXPECT_EVENTUALLY(f.sink.error() == "no room");
  f.finish();
}

TEST(SeriesSink, windows_are_those_of_the_series_that_goes_on) {
  Fixture f;
  f.put(0);
  f.sink.put_windows({});
  f.put(6);
  f.sink.put_windows({});
  f.sink.put_windows({});
  f.finish();
  EXPECT_EQ(f.seen[0].windows, 1);
  EXPECT_EQ(f.seen[1].windows, 2);
}

TEST(SeriesSink, takes_no_sink_that_is_not_done_at_once_and_a_stack_without_images_is_nothing) {
  Fixture f;
  std::vector<ErrorReason> results;
  EXPECT_EQ(f.sink.put(Stack{}, results), Put::done);
  f.seen[0].is_later = true;
  EXPECT_THROW(f.put(0), StateError);
}

}  // namespace
}  // namespace rashpa::sink
