// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/series_sink.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/tell.hpp"

namespace rashpa::sink {

namespace {

void count(Books& books, Completeness completeness, Decision decision) noexcept {
  ++books.expected;
  switch (completeness) {
    case Completeness::complete:
      ++books.complete;
      break;
    case Completeness::partial:
      ++books.partial;
      break;
    default:
      ++books.missing;
  }
  switch (decision) {
    case Decision::accepted:
      ++books.accepted;
      break;
    case Decision::vetoed:
      ++books.vetoed;
      break;
    case Decision::errored:
      ++books.errored;
      break;
    case Decision::none:
      break;
  }
}

void add(SinkStats& sum, const SinkStats& one) noexcept {
  sum.images_written += one.images_written;
  sum.bytes_written += one.bytes_written;
  sum.bytes_stored += one.bytes_stored;
}

}  // namespace

SeriesSink::SeriesSink(std::uint64_t images, std::uint64_t most, Make make)
    : images_(images), most_(most), make_(std::move(make)) {
  if (images == 0) throw ConfigError("sink: a series has no image; give it 1 or more");
  current_ = make_(1);
  if (most_ > 1) next_ = make_(2);
}

SeriesSink::~SeriesSink() { join(); }

void SeriesSink::join() noexcept {
  if (thread_.joinable()) thread_.join();
}

void SeriesSink::begin() { current_->begin(); }

Put SeriesSink::put(const Stack& stack, std::span<ErrorReason> results) {
  const auto images = stack.view();
  if (images.empty()) return Put::done;
  turn_to(images.front().index);
  if (current_->put(stack, results) == Put::later)
    throw StateError(
        "sink: a sink of series has not stored its images when put() returns; give one that stores them at once");
  for (std::size_t i = 0; i < images.size(); ++i) {
    const bool lost = images[i].decision == Decision::accepted && results[i] != ErrorReason::none;
    count(books_, images[i].completeness, lost ? Decision::errored : images[i].decision);
  }
  return Put::done;
}

void SeriesSink::skip(std::span<const SkippedImage> images) {
  if (images.empty()) return;
  turn_to(images.front().index);
  if (auto* const rows = able<RowKeeping>(*current_)) rows->skip(images);
  for (const SkippedImage& image : images) count(books_, image.completeness, image.decision);
}

void SeriesSink::turn_to(std::uint64_t image) {
  while (image / images_ + 1 > series_) next_series();
}

// Throws when there is no place for the next one, or it cannot begin: the stack is lost, this series goes on being the
// current one, and it is tried again with the next stack.
void SeriesSink::next_series() {
  join();
  if (next_ == nullptr) next_ = make_(series_ + 1);
  next_->begin();
  {
    const std::lock_guard lock(mutex_);
    over_ = std::exchange(current_, std::move(next_));
    ++series_;
  }
  const auto turn = [this, books = std::exchange(books_, {}), after = series_ + 1] {
    complete(books);
    if (after <= most_) prepare(after);
  };
  try {
    thread_ = std::thread(turn);
  } catch (...) {  // no thread is left, or no memory for one: this one does it
    turn();
  }
}

// Nothing of the line is here: it learns of losses at the end of the run.
void SeriesSink::complete(Books books) noexcept {
  Sink& sink = *over_;
  try {
    std::vector<LostImage> lost = sink.settle();
    books.accepted -= std::min<std::uint64_t>(books.accepted, lost.size());
    books.errored += lost.size();
    books.written = sink.stats().images_written;
    const std::lock_guard lock(mutex_);
    keep_lost(lost);
  } catch (const std::exception& failure) {
    keep_error(failure.what());
  }
  try {
    sink.close(books);
  } catch (const std::exception& failure) {
    tell([&] {
      const std::lock_guard lock(mutex_);
      if (close_error_.empty()) close_error_ = failure.what();
    });
  }
  if (const std::string error = text_or_nothing([&] { return sink.error(); }); !error.empty()) {
    keep_error(error.c_str());
  }
  std::unique_ptr<Sink> done;
  const std::lock_guard lock(mutex_);
  add(completed_, sink.stats());
  done = std::move(over_);
}

// Nothing is copied, so that all are kept or none.
void SeriesSink::keep_lost(std::vector<LostImage>& lost) {
  lost_.reserve(lost_.size() + lost.size());
  std::move(lost.begin(), lost.end(), std::back_inserter(lost_));
}

void SeriesSink::prepare(std::uint64_t series) noexcept {
  try {
    std::unique_ptr<Sink> made = make_(series);
    const std::lock_guard lock(mutex_);
    next_ = std::move(made);
  } catch (const std::exception& failure) {
    keep_error(failure.what());
  }
}

void SeriesSink::keep_error(const char* text) noexcept {
  tell([&] {
    const std::lock_guard lock(mutex_);
    if (first_error_.empty()) first_error_ = text;
  });
}

void SeriesSink::put_windows(const Accumulated& accumulated) {
  if (auto* const windows = able<WindowKeeping>(*current_)) windows->put_windows(accumulated);
}

std::vector<LostImage> SeriesSink::settle() {
  join();
  std::vector<LostImage> lost = current_->settle();
  books_.accepted -= std::min<std::uint64_t>(books_.accepted, lost.size());
  books_.errored += lost.size();
  keep_lost(lost);
  return std::exchange(lost_, {});
}

void SeriesSink::close(const Books& /*of all series*/) {
  if (std::exchange(closed_, true)) return;
  static_cast<void>(settle());
  books_.written = current_->stats().images_written;
  current_->close(books_);
  if (!close_error_.empty()) throw FileError(close_error_);
}

SinkStats SeriesSink::stats() const noexcept {
  const std::lock_guard lock(mutex_);
  SinkStats sum = completed_;
  if (over_ != nullptr) add(sum, over_->stats());
  add(sum, current_->stats());
  return sum;
}

std::string SeriesSink::error() const {
  const std::lock_guard lock(mutex_);
  return first_error_.empty() ? current_->error() : first_error_;
}

}  // namespace rashpa::sink
