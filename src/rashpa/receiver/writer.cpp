#include "rashpa/receiver/writer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::receiver {

namespace {
constexpr std::chrono::milliseconds kLongestSleep{5};
}  // namespace

Writer::Writer(const BufferConfig& config, const Output& output, scheduler::Lane& lane, unit::Unit& unit,
               Doorbell& bell, Doorbell& wake)
    : output_(output),
      lane_(lane),
      unit_(unit),
      bell_(bell),
      wake_(wake),
      decisions_(std::make_unique<std::atomic<std::uint8_t>[]>(output.images)),
      by_reason_(output.results.reasons.names().size()) {
  for (const SinkFactory& make : config.sinks) sinks_.push_back(make(output));
  if (!output.sparse) {
    preview_.pixels.reserve(static_cast<std::size_t>(output.width) * output.height * pixel_bytes(output.pixel));
  }
}

Writer::~Writer() { join(); }

void Writer::begin() {
  for (auto& sink : sinks_) sink->begin();
}

void Writer::start(int processor) {
  thread_ = std::jthread([this, processor] { run(processor); });
}

void Writer::join() noexcept {
  if (thread_.joinable()) thread_.join();
}

void Writer::run(int processor) {
  memory::place_this_thread("writer", processor);
  std::uint64_t taken = 0;
  for (;;) {
    const std::uint32_t seen = bell_.count();
    if (Stack* stack = unit_.take()) {
      ++taken;
      put(*stack);
      continue;
    }
    if (lane_.closed() && taken == lane_.submitted()) break;
    bell_.wait(seen, kLongestSleep);
  }
  settle_sinks();
  close_sinks();
  done_.store(true, std::memory_order_release);
}

void Writer::put(Stack& stack) {
  for (StackImage& image : stack.view()) {
    if (image.decision == Decision::errored) image.fail(ErrorReason::unit);  // nobody else has had it yet
  }
  lane_.refuse_overwritten(stack);
  for (auto& sink : sinks_) sink->put(stack);
  lane_.count_overwritten(stack);
  stack.written_ns = now_ns();
  last_decided_ns_.store(stack.decided_ns, std::memory_order_relaxed);
  if (preview_wanted_.load(std::memory_order_relaxed)) keep_preview(stack);
  for (const StackImage& image : stack.view()) {
    decisions_[image.index].store(static_cast<std::uint8_t>(image.decision), std::memory_order_relaxed);
    count(image);
  }
  through_.fetch_add(stack.count, std::memory_order_relaxed);
  decided_.record(stack.decided_ns - stack.ready_ns);
  written_.record(stack.written_ns - stack.decided_ns);
  lane_.release(stack);
  wake_.ring();
}

void Writer::count(const StackImage& image) noexcept {
  by_completeness_[static_cast<std::size_t>(image.completeness)].fetch_add(1, std::memory_order_relaxed);
  by_decision_[static_cast<std::size_t>(image.decision)].fetch_add(1, std::memory_order_relaxed);
  if (image.decision == Decision::vetoed)
    by_reason_[static_cast<std::size_t>(image.reason)].fetch_add(1, std::memory_order_relaxed);
  if (image.decision == Decision::errored) note_errored(image.index, image.frame_number, image.error, {});
}

// Takes a lock, and only for an image that is lost anyway.
void Writer::note_errored(std::uint64_t index, std::uint64_t frame_number, ErrorReason reason,
                          const std::string& text) {
  by_error_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(error_lock_);
    if (first_errored_ && first_errored_->index <= index) return;
  }
  FirstErrored first{.index = index, .frame_number = frame_number, .reason = reason, .text = text};
  if (first.text.empty()) {
    if (reason == ErrorReason::unit) {
      first.text = unit_.error();
      if (first.text.empty()) first.text = "the unit could not finish it, or was ended";
    }
    if (reason == ErrorReason::storage) first.text = error();
    if (reason == ErrorReason::overwritten) first.text = "a later image was written into its slot before it was stored";
  }
  const std::lock_guard lock(error_lock_);
  first_errored_ = std::move(first);
}

void Writer::keep_preview(const Stack& stack) {
  const auto images = stack.view();
  const auto found = std::find_if(images.begin(), images.end(), [](const StackImage& image) {
    return image.decision == Decision::accepted && image.pixels != nullptr;
  });
  if (found == images.end() || output_.sparse) return;
  const std::size_t bytes = static_cast<std::size_t>(output_.width) * output_.height * pixel_bytes(output_.pixel);
  const std::lock_guard lock(preview_lock_);
  preview_.frame_number = found->frame_number;
  preview_.pixels.assign(found->pixels, found->pixels + bytes);
  if (stack.intact(*found)) {
    preview_wanted_.store(false, std::memory_order_relaxed);
  } else {
    preview_.pixels.clear();
  }
}

std::optional<Preview> Writer::preview() const {
  const std::lock_guard lock(preview_lock_);
  preview_wanted_.store(true, std::memory_order_relaxed);
  if (preview_.pixels.empty()) return std::nullopt;
  return preview_;
}

// What was stored and is not there after all was counted as accepted.
void Writer::settle_sinks() {
  closing_.store(true, std::memory_order_relaxed);
  for (auto& sink : sinks_) {
    for (const sink::LostImage& lost : sink->settle()) {
      auto& decision = decisions_[lost.index];
      if (decision.load(std::memory_order_relaxed) != static_cast<std::uint8_t>(Decision::accepted)) continue;
      decision.store(static_cast<std::uint8_t>(Decision::errored), std::memory_order_relaxed);
      by_decision_[static_cast<std::size_t>(Decision::errored)].fetch_add(1, std::memory_order_relaxed);
      by_decision_[static_cast<std::size_t>(Decision::accepted)].fetch_sub(1, std::memory_order_relaxed);
      note_errored(lost.index, lost.frame_number, ErrorReason::storage, lost.reason);
    }
  }
}

void Writer::close_sinks() {
  for (auto& sink : sinks_) {
    try {
      sink->close(books());
    } catch (const std::exception& failure) {
      const std::lock_guard lock(error_lock_);
      if (close_error_.empty()) close_error_ = failure.what();
    }
  }
}

std::string Writer::error() const {
  for (const auto& sink : sinks_) {
    if (std::string text = sink->error(); !text.empty()) return text;
  }
  const std::lock_guard lock(error_lock_);
  return close_error_;
}

Books Writer::books() const noexcept {
  const auto completeness = [&](Completeness state) {
    return by_completeness_[static_cast<std::size_t>(state)].load(std::memory_order_relaxed);
  };
  const auto decided = [&](Decision decision) {
    return by_decision_[static_cast<std::size_t>(decision)].load(std::memory_order_relaxed);
  };
  Books books;
  books.expected = output_.images;
  books.complete = completeness(Completeness::complete);
  books.partial = completeness(Completeness::partial);
  books.missing = completeness(Completeness::missing);
  if (lane_.closed()) {
    // Images of which nothing ever came have no stack; the lane's table holds them as missing.
    for (std::uint64_t image = lane_.submitted() * lane_.config().stack; image < output_.images; ++image) {
      books.missing += lane_.completeness().get(image) == Completeness::missing ? 1U : 0U;
    }
  }
  books.accepted = decided(Decision::accepted);
  books.vetoed = decided(Decision::vetoed);
  books.errored = decided(Decision::errored);
  books.written = sinks_.empty() ? 0 : sinks_.front()->stats().images_written;
  for (const auto& sink : sinks_) books.written = std::min(books.written, sink->stats().images_written);
  // One that another sink has lost is not stored, though this one has it.
  if (closing_.load(std::memory_order_relaxed)) books.written = std::min(books.written, books.accepted);
  return books;
}

std::vector<ReasonCount> Writer::vetoes() const {
  std::vector<ReasonCount> all;
  const std::vector<std::string>& names = output_.results.reasons.names();
  for (std::size_t i = 1; i < names.size(); ++i) {
    all.push_back({.name = names[i], .images = by_reason_[i].load(std::memory_order_relaxed)});
  }
  return all;
}

std::array<std::uint64_t, kErrorReasons> Writer::errors() const noexcept {
  std::array<std::uint64_t, kErrorReasons> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = by_error_[i].load(std::memory_order_relaxed);
  return all;
}

std::optional<FirstErrored> Writer::first_errored() const {
  const std::lock_guard lock(error_lock_);
  return first_errored_;
}

std::uint64_t Writer::to_write() const noexcept {
  const std::uint64_t handed = std::min(lane_.submitted() * lane_.config().stack, output_.images);
  const std::uint64_t through = through_.load(std::memory_order_relaxed);
  return handed - std::min(handed, through);
}

Decision Writer::decision(std::uint64_t image) const noexcept {
  return image < output_.images ? static_cast<Decision>(decisions_[image].load(std::memory_order_relaxed))
                                : Decision::none;
}

}  // namespace rashpa::receiver
