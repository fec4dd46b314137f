// SPDX-License-Identifier: Apache-2.0
#include "rashpa/offline/recorder.hpp"

#include <fmt/format.h>

#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/receiver/buffers/buffer_output.hpp"

namespace rashpa::offline {

namespace {

Config runner_config(const receiver::BufferConfig& buffer) {
  unit::Pipeline pipeline = buffer.pipeline;
  pipeline.delivery = receiver::delivery_of(buffer.sinks);
  if (buffer.stack == 0 || buffer.slots < buffer.stack) {
    throw ConfigError(
        fmt::format("buffer '{}': {} slots do not hold a stack of {}; give as many or more, and a stack above 0",
                    buffer.name, buffer.slots, buffer.stack));
  }
  return {.unit = buffer.unit,
          .pipeline = std::move(pipeline),
          .width = buffer.width,
          .height = buffer.height,
          .pixel = buffer.pixel,
          .stack = buffer.stack,
          .stacks = buffer.slots / buffer.stack,
          .largest_count = largest_count_of(buffer.pixel, buffer.special),
          .masked = buffer.masked};
}

}  // namespace

Recorder::Recorder(const receiver::BufferConfig& config, std::uint32_t run)
    : config_(config),
      runner_(runner_config(config)),
      mask_(receiver::special_mask_of(config)),
      output_(receiver::output_of(config, runner_.output(), run, mask_)),
      holders_(config.slots / config.stack),
      by_reason_(output_.results.reasons.names().size()) {
  if (config_.sinks.empty()) throw ConfigError(fmt::format("buffer '{}': it has no sink; give it one", config_.name));
  back_.reserve(holders_.size());
  for (receiver::SinkConfig& sink : config_.sinks) sink.on_full = receiver::OnFull::wait;
  const auto chunks = receiver::chunk_board_of(config_.sinks, output_, config_.slots);
  for (receiver::SinkConfig& sink : config_.sinks) {
    lines_.push_back(std::make_shared<receiver::SinkLine>(sink, receiver::output_for(sink, output_, chunks),
                                                          static_cast<std::uint32_t>(holders_.size()), 0,
                                                          static_cast<receiver::LineOwner&>(*this)));
  }
}

Recorder::~Recorder() { finish(); }

void Recorder::begin() {
  for (auto& line : lines_) line->begin();
  for (auto& line : lines_) line->start(-1);
  begun_ = true;
}

void Recorder::process(Images images) {
  if (!begun_ || finished_ || next_ + images.count > config_.images || next_ % config_.stack != 0) {
    throw ConfigError(fmt::format(
        "buffer '{}': {} images come behind {}, and {} were announced in stacks of {}; give whole stacks of "
        "the announced images",
        config_.name, images.count, next_, finished_ ? next_ : config_.images, config_.stack));
  }
  images.first_index = next_;
  next_ += images.count;
  stacks_ += (images.count + config_.stack - 1) / config_.stack;
  runner_.run(images, *this);
}

void Recorder::finish() {
  if (finished_) return;
  finished_ = true;
  if (!begun_) return;
  const Accumulated open = runner_.conclude();
  for (auto& line : lines_) line->close(stacks_, open);
  receiver::finish(lines_);
}

void Recorder::take(Stack& stack) noexcept {
  decided_ns_.record(stack.decided_ns - stack.ready_ns);
  if (mask_) mask_->look(stack);
  {
    const std::lock_guard lock(lock_);
    for (StackImage& image : stack.view()) {
      if (image.decision == Decision::errored) image.fail(ErrorReason::unit);
      count(image);
    }
    holders_[stack.slot] = static_cast<std::uint32_t>(lines_.size()) + 1;
  }
  for (auto& line : lines_) line->offer(stack);
  let_go(stack);
}

Stack* Recorder::give_back() noexcept {
  const std::lock_guard lock(lock_);
  if (back_.empty()) return nullptr;
  Stack* stack = back_.back();
  back_.pop_back();
  return stack;
}

void Recorder::through(const Stack& stack) noexcept { let_go(stack); }

void Recorder::let_go(const Stack& stack) noexcept {
  {
    const std::lock_guard lock(lock_);
    if (--holders_[stack.slot] != 0) return;
    Stack& free = runner_.stack(stack.slot);
    free.written_ns = now_ns();
    written_ns_.record(free.written_ns - free.decided_ns);
    back_.push_back(&free);
  }
  runner_.bell().ring();
}

void Recorder::count(const StackImage& image) {
  switch (image.completeness) {
    case Completeness::complete:
      ++books_.complete;
      break;
    case Completeness::partial:
      ++books_.partial;
      break;
    default:
      ++books_.missing;
  }
  switch (image.decision) {
    case Decision::accepted:
      ++books_.accepted;
      break;
    case Decision::vetoed:
      ++books_.vetoed;
      ++by_reason_[static_cast<std::size_t>(image.reason)];
      break;
    case Decision::errored: {
      ++books_.errored;
      std::string text = runner_.failure(image.failed_in);
      if (text.empty() && output_.list_capacity > 0) text = receiver::full_list_text(output_);
      note_errored(image.index, image.frame_number, image.error, text.empty() ? "the unit could not finish it" : text);
      break;
    }
    default:
      break;
  }
}

void Recorder::note_errored(std::uint64_t index, std::uint64_t frame, ErrorReason reason, const std::string& text) {
  ++by_error_[static_cast<std::size_t>(reason)];
  if (first_errored_ && first_errored_->index <= index) return;
  first_errored_ = receiver::FirstErrored{.index = index, .frame_number = frame, .reason = reason, .text = text};
}

void Recorder::lost(std::string_view name, std::uint64_t index, std::uint64_t frame, ErrorReason reason,
                    const std::string& text) noexcept {
  const std::lock_guard lock(lock_);
  if (!lost_.insert(index).second) return;  // another sink has lost it, too
  note_errored(index, frame, reason, lines_.size() > 1 ? fmt::format("sink {}: {}", name, text) : text);
}

// Of several sinks, another one has it.
void Recorder::passed_over(std::uint64_t index, std::uint64_t frame, const std::string& text) noexcept {
  if (lines_.size() == 1) lost({}, index, frame, ErrorReason::dropped, text);
}

// No sink of this buffer drops images.
sink::SkippedImage Recorder::skipped(std::uint64_t index) const noexcept { return {.index = index}; }

Books Recorder::decided() const noexcept {
  const std::lock_guard lock(lock_);
  Books books = books_;
  books.expected = config_.end == End::known ? config_.images : next_;
  if (finished_) books.missing += books.expected - next_;
  return books;
}

receiver::BufferStatus Recorder::status() const {
  receiver::BufferStatus status;
  status.name = config_.name;
  const Books decided_yet = decided();
  status.unit = runner_.how();
  status.ready = &ready_;
  status.decision = &decided_ns_;
  status.written = &written_ns_;
  for (const auto& line : lines_) {
    status.sinks.push_back(line->status());
    status.bytes_written += status.sinks.back().bytes_written;
    status.bytes_stored += status.sinks.back().bytes_stored;
    if (status.sink_error.empty()) status.sink_error = status.sinks.back().error;
  }
  const std::vector<std::string>& names = output_.results.reasons.names();
  std::uint64_t lost = 0;
  {
    const std::lock_guard lock(lock_);
    lost = lost_.size();
    for (std::size_t i = 1; i < names.size(); ++i) status.vetoes.push_back({names[i], by_reason_[i]});
    status.errors = by_error_;
    status.first_errored = first_errored_;
  }
  status.books = receiver::settled(decided_yet, lost, lines_);
  return status;
}

}  // namespace rashpa::offline
