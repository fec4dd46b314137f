// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/sinks/sink_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/tell.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::receiver {
namespace {

// Made before anything runs: said where there may be no memory for words.
const std::string kNobody = "no consumer of the sink was there, or had room";
const std::string kQueueFull = "the queue of the sink was full";
const std::string kWrittenOver(kWrittenAgain);
const std::string kWhileCopied = "it was written over while it was copied";

constexpr std::chrono::milliseconds kLongestSleep{50};  // no thread waits for that: one with work rings

}  // namespace

SinkLine::SinkLine(SinkConfig config, const Output& output, std::uint32_t stacks, std::uint32_t lost_runs,
                   LineOwner& owner)
    : config_(std::move(config)),
      buffer_(output.buffer),
      run_(output.run),
      stack_images_(output.stack),
      sink_(config_.make(output)),
      queue_(std::max(stacks, 2 * config_.queue)),  // of a line that may drop: copies of stacks, and of windows
      skipped_(output.stack),
      fates_(output.images),
      owner_(&owner) {
  if (config_.on_full == OnFull::drop && !sink_->is_prompt()) {
    if (config_.queue == 0) throw ConfigError(fmt::format("sink {}: queue is 0; give 1 or more", config_.name));
    copies_ = std::make_unique<StackCopies>(output, config_.queue, lost_runs);
    windows_ = std::make_unique<WindowCopies>(output.results.accumulations, config_.queue);
  }
  results_.resize(std::size_t{copies_ ? config_.queue : stacks} * stack_images_);
  if (config_.chunks == sink::ChunkPart::makes) made_ = output.chunks;
  deferring_ = able<sink::Deferring>(*sink_);
  polled_ = able<sink::Polled>(*sink_);
  rows_kept_ = able<sink::RowKeeping>(*sink_);
  windows_kept_ = able<sink::WindowKeeping>(*sink_);
  sending_ = able<const sink::Sending>(*sink_);
  if (deferring_ != nullptr) deferring_->connect(bell_);
}

SinkLine::~SinkLine() = default;

log::Where SinkLine::where(std::int64_t frame) const noexcept {
  return {.run = run_, .buffer = buffer_, .frame = frame};
}

void SinkLine::begin() {
  sink_->begin();
  turn(Life::made, Life::begun);
}

void SinkLine::start(int processor) {
  if (!sink_->is_prompt()) {
    thread_ = std::thread([self = shared_from_this(), processor] { self->run(processor); });
  }
  turn(Life::begun, Life::running);
}

bool SinkLine::offer(const Stack& stack) noexcept {
  const auto images = stack.view();
  for (const StackImage& image : images) {
    if (image.decision != Decision::accepted) continue;
    fates_.offer(image.index);
    offered_.fetch_add(1, std::memory_order_release);
  }
  if (!copies_) {
    if (sink_->is_prompt()) {
      hand(stack);
    } else {
      queue_.push_must(&stack);  // has room for all stacks of the ring
      bell_.ring();
    }
    return true;
  }
  const Stack* copy = copies_->take(stack);
  if (copy == nullptr) {
    for (const StackImage& image : images) {
      if (fates_.settle(image.index, Fate::dropped)) dropped_.fetch_add(1, std::memory_order_release);
    }
    const auto first = std::find_if(images.begin(), images.end(),
                                    [](const StackImage& image) { return image.decision == Decision::accepted; });
    if (first != images.end()) {
      note_first(first->index, first->frame_number, ErrorReason::dropped, kQueueFull);
      log::write(dropping_, log::Level::warning, where(static_cast<std::int64_t>(first->frame_number)),
                 "sink {} is behind: a stack is dropped, its queue of {} is full", config_.name, config_.queue);
    }
    keep_windows(stack);
    return false;
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    const StackImage& copied = copy->images[i];
    if (images[i].decision == Decision::accepted && copied.decision == Decision::errored) {
      lose(copied.index, copied.frame_number, copied.error, kWhileCopied);
    }
  }
  queue_.push_must(copy);
  keep_windows(stack);
  bell_.ring();
  return true;
}

// Sums cover more images than those of the stack: the sink gets them behind the stack, or in its place.
void SinkLine::keep_windows(const Stack& stack) noexcept {
  if (!carries_windows(stack)) return;
  if (const Stack* carrier = windows_->take(stack)) {
    queue_.push_must(carrier);
    bell_.ring();
    return;
  }
  note_error(losing_, text_or_nothing([&] {
               return fmt::format(
                   "windows of sums that end with image {} are lost: the sink was behind, and its queue of {} is full",
                   stack.number * stack_images_ + stack.count - 1, config_.queue);
             }));
}

void SinkLine::close(std::uint64_t stacks, const Accumulated& open) noexcept {
  open_ = windows_ ? windows_->keep(open) : open;
  stacks_ = stacks;
  life_.store(Life::closed, std::memory_order_release);
  bell_.ring();
}

void SinkLine::run(int processor) {
  memory::place_this_thread("sink", processor);
  while (!left_behind()) {
    const std::uint32_t seen = bell_.count();
    const bool closed = life() == Life::closed;
    take_back();
    const Stack* stack = nullptr;
    if (queue_.try_pop(stack)) {
      if (windows_ && windows_->made(*stack)) {
        hand_windows(*stack);
        continue;
      }
      skip_to(stack->number);
      hand(*stack);
      continue;
    }
    if (closed && with_sink_ == 0) return complete();
    bell_.wait(seen, kLongestSleep);
  }
}

void SinkLine::hand(const Stack& stack) noexcept {
  next_stack_ = stack.number + 1;
  const std::span<ErrorReason> results = results_of(stack);
  std::fill(results.begin(), results.end(), ErrorReason::none);
  sink::Put answer = sink::Put::done;
  if (!guarded("take a stack", [&] { answer = sink_->put(stack, results); })) {
    std::fill(results.begin(), results.end(), ErrorReason::storage);
  }
  if (made_ && stack.count > 0) made_->pass(stack.view().back().index + 1);
  alive();
  if (answer == sink::Put::later) {
    ++with_sink_;
  } else {
    finish_stack(stack);
  }
}

void SinkLine::hand_windows(const Stack& carrier) noexcept {
  skip_to(carrier.number + 1);  // where the sink did not get the stack
  if (windows_kept_ != nullptr)
    guarded("keep windows of sums", [&] { windows_kept_->put_windows(carrier.accumulated); });
  windows_->give_back(carrier);
  alive();
}

void SinkLine::take_back() noexcept {
  if (polled_ != nullptr) polled_->poll();
  if (deferring_ == nullptr) return;
  while (const Stack* stack = deferring_->take()) {
    --with_sink_;
    alive();
    finish_stack(*stack);
  }
}

void SinkLine::finish_stack(const Stack& stack) noexcept {
  const std::span<const ErrorReason> results = results_of(stack);
  const auto images = stack.view();
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].decision != Decision::accepted) continue;
    if (results[i] == ErrorReason::none) {
      static_cast<void>(fates_.settle(images[i].index, Fate::kept));  // false: the line was left behind
    } else if (results[i] == ErrorReason::dropped) {
      pass_over(images[i]);
    } else if (results[i] == ErrorReason::overwritten) {
      lose(images[i].index, images[i].frame_number, results[i], kWrittenOver);
    } else {
      lose(images[i].index, images[i].frame_number, results[i], text_or_nothing([&] { return error(); }));
    }
  }
  if (copies_) {
    copies_->give_back(stack.slot);
  } else {
    owner_->through(stack);
  }
}

void SinkLine::pass_over(const StackImage& image) noexcept {
  {
    const std::lock_guard lock(owner_lock_);
    if (owner_ == nullptr || !fates_.settle(image.index, Fate::dropped)) return;
    owner_->passed_over(image.index, image.frame_number, kNobody);
  }
  dropped_.fetch_add(1, std::memory_order_release);
  note_first(image.index, image.frame_number, ErrorReason::dropped, kNobody);
}

// Images of stacks that were dropped.
void SinkLine::skip_to(std::uint64_t stack) noexcept {
  for (; next_stack_ < stack; ++next_stack_) {
    const std::uint64_t first = next_stack_ * stack_images_;
    std::unique_lock lock(owner_lock_);
    if (owner_ == nullptr) return;
    const std::uint64_t end = std::min(first + stack_images_, std::max(first, owner_->images()));
    for (std::uint64_t image = first; image < end; ++image) skipped_[image - first] = owner_->skipped(image);
    lock.unlock();
    if (rows_kept_ != nullptr) {
      guarded("pass over a stack that was dropped", [&] { rows_kept_->skip(std::span(skipped_).first(end - first)); });
    }
    alive();
  }
}

void SinkLine::complete() noexcept {
  skip_to(stacks_);
  if (!turn(Life::closed, Life::completing)) return;
  if (windows_kept_ != nullptr) guarded("keep the open windows of sums", [&] { windows_kept_->put_windows(open_); });
  guarded("settle what it stored", [&] {
    for (const sink::LostImage& lost : sink_->settle()) {
      lose(lost.index, lost.frame_number, ErrorReason::storage, lost.reason);
    }
  });
  alive();
  Books decided;
  {
    const std::lock_guard lock(owner_lock_);
    if (owner_ == nullptr) return;
    decided = owner_->decided();
  }
  guarded("complete its output", [&] { sink_->close(books(decided)); });
  turn(Life::completing, Life::done);
}

// The seam between this line and its sink: whatever a sink throws, in spite of its promises, is its first error, and
// ends neither the receiver nor what the sink is asked next. False: it threw.
template <typename Call>
bool SinkLine::guarded(const char* doing, Call call) noexcept {
  const auto note = [&](const char* failure) {
    log::write(failing_, log::Level::error, where(), "sink {} could not {}: {}", config_.name, doing, failure);
    keep_error(failure);
  };
  try {
    call();
    return true;
  } catch (const std::exception& failure) {
    note(failure.what());
  } catch (...) {
    note("it threw no std::exception");
  }
  return false;
}

void SinkLine::note_error(log::Limiter& limiter, const std::string& text) noexcept {
  log::write(limiter, log::Level::error, where(), "sink {}: {}", config_.name, text);
  keep_error(text.c_str());
}

void SinkLine::keep_error(const char* text) noexcept {
  tell([&] {
    const std::lock_guard lock(lock_);
    if (close_error_.empty()) close_error_ = text;
  });
}

// Images that this sink has lost are errored, in its books.
Books SinkLine::books(const Books& decided) const noexcept {
  Books books = decided;
  const std::uint64_t lost = errored() + dropped_.load(std::memory_order_relaxed);
  books.accepted -= std::min(books.accepted, lost);
  books.errored += lost;
  books.written = stats().images_written;
  return books;
}

void SinkLine::watch(std::int64_t now) noexcept {
  if (done()) return;
  if (!thread_.joinable()) return complete();  // a prompt sink has none, and one whose start has failed
  if (!copies_) return;                        // its stacks lie in the slots: nothing but its return ends the run
  const std::uint64_t steps = steps_.load(std::memory_order_relaxed);
  if (steps_since_ == 0 || steps != steps_seen_) {
    steps_seen_ = steps;
    steps_since_ = now;
    return;
  }
  const Life seen = life();
  if (now - steps_since_ > patience_ns(seen)) leave_behind(seen);
}

void SinkLine::leave_behind(Life seen) noexcept {
  if (!turn(seen, Life::leaving)) return;  // it has gone on
  const std::string text = text_or_nothing([&] {
    return fmt::format("it did not come back for {:.1f} s at the end of the run and was left behind",
                       static_cast<double>(patience_ns(seen)) * 1e-9);
  });
  {
    const std::lock_guard lock(lock_);
    last_stats_ = sink_->stats();
  }
  note_error(failing_, text);
  const std::lock_guard lock(owner_lock_);
  for (std::uint32_t slot = 0; slot < copies_->stacks(); ++slot) {
    // Also those that the sink has counted as written: nothing proves that they are. Copies that were given back hold
    // images that are settled.
    for (const StackImage& image : copies_->copy(slot).view()) {
      if (fates_.of(image.index) == Fate::waiting) {
        count_lost(image.index, image.frame_number, ErrorReason::storage, text);
      }
    }
  }
  owner_ = nullptr;
  {
    const std::lock_guard guard(lock_);
    last_stats_->images_written =
        offered_.load(std::memory_order_acquire) - dropped_.load(std::memory_order_acquire) - errored();
  }
  life_.store(Life::left, std::memory_order_release);
}

void SinkLine::join() noexcept {
  if (!thread_.joinable()) return;
  left_behind() ? thread_.detach() : thread_.join();
}

void SinkLine::lose(std::uint64_t index, std::uint64_t frame, ErrorReason reason, const std::string& text) noexcept {
  const std::lock_guard lock(owner_lock_);
  if (owner_ != nullptr) count_lost(index, frame, reason, text);
}

void SinkLine::count_lost(std::uint64_t index, std::uint64_t frame, ErrorReason reason,
                          const std::string& text) noexcept {
  if (!fates_.settle(index, Fate::lost)) return;
  owner_->lost(config_.name, index, frame, reason, text);
  errored_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_release);
  note_first(index, frame, reason, text);
}

void SinkLine::note_first(std::uint64_t index, std::uint64_t frame, ErrorReason reason,
                          const std::string& text) noexcept {
  tell([&] {
    const std::lock_guard lock(lock_);
    if (first_ && first_->index <= index) return;
    first_ = FirstErrored{.index = index, .frame_number = frame, .reason = reason, .text = text};
  });
}

std::uint64_t SinkLine::errored() const noexcept {
  std::uint64_t sum = 0;
  // acquire: a status sees all that the thread that lost an image had done when it counted it (release)
  for (const auto& one : errored_) sum += one.load(std::memory_order_acquire);
  return sum;
}

sink::SinkStats SinkLine::stats() const noexcept {
  {
    const std::lock_guard lock(lock_);
    if (last_stats_) return *last_stats_;
  }
  return sink_->stats();
}

std::uint64_t SinkLine::unsettled() const noexcept {
  // In this order, so that an image on its way is counted as waiting rather than not at all.
  const std::uint64_t settled = stats().images_written + errored() + dropped_.load(std::memory_order_acquire);
  const std::uint64_t offered = offered_.load(std::memory_order_acquire);
  return offered - std::min(offered, settled);
}

SinkStatus SinkLine::status() const {
  SinkStatus status;
  const sink::SinkStats stats = this->stats();
  status.name = config_.name;
  status.on_full = config_.on_full;
  status.written = stats.images_written;
  status.bytes_written = stats.bytes_written;
  status.bytes_stored = stats.bytes_stored;
  status.errored = errored();
  status.dropped = dropped_.load(std::memory_order_acquire);
  status.accepted = offered_.load(std::memory_order_acquire);
  const std::uint64_t settled = status.written + status.errored + status.dropped;
  status.waiting = status.accepted - std::min(status.accepted, settled);
  status.error = error();
  if (sending_ != nullptr) {
    status.consumers = sending_->consumers();
    status.restarts = sending_->restarts();
  }
  status.left_behind = left_behind();
  const std::lock_guard lock(lock_);
  status.first = first_;
  return status;
}

std::string SinkLine::error() const {
  if (std::string first = sink_->error(); !first.empty()) return first;
  const std::lock_guard lock(lock_);
  return close_error_;
}

void finish(const SinkLines& lines) noexcept {
  const auto done = [](const auto& line) { return line->done(); };
  for (;;) {
    for (const auto& line : lines) line->watch(now_ns());
    if (std::all_of(lines.begin(), lines.end(), done)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const auto& line : lines) line->join();
}

Books settled(Books decided, std::uint64_t lost, const SinkLines& lines) noexcept {
  Books books = decided;
  books.accepted -= std::min(books.accepted, lost);
  books.errored += lost;
  // The sink that is furthest behind says how many are where they should be.
  std::uint64_t waiting = 0;
  for (const auto& line : lines) waiting = std::max(waiting, line->unsettled());
  books.written = books.accepted - std::min(books.accepted, waiting);
  return books;
}

}  // namespace rashpa::receiver
