// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/distributor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/tell.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/cpu_set.hpp"
#include "rashpa/receiver/buffers/buffer_output.hpp"

namespace rashpa::receiver {

namespace {

// Made before anything runs: said where there may be no memory for words.
const std::string kAllFull = "the queues of all its sinks were full";

constexpr std::chrono::milliseconds kLongestWait{5};

/// An image's fate in 16 bits: decision, veto reason, error reason.
std::uint16_t packed(Decision decision, VetoReason reason, ErrorReason error) noexcept {
  return static_cast<std::uint16_t>(static_cast<unsigned>(decision) | static_cast<unsigned>(reason) << 2U |
                                    static_cast<unsigned>(error) << 10U);
}
Decision decision_of(std::uint16_t fate) noexcept { return static_cast<Decision>(fate & 3U); }
VetoReason reason_of(std::uint16_t fate) noexcept { return static_cast<VetoReason>(fate >> 2U & 0xFFU); }
ErrorReason error_of(std::uint16_t fate) noexcept { return static_cast<ErrorReason>(fate >> 10U); }

std::string free_name(const SinkLines& lines, const std::string& wanted) {
  std::string name = wanted;
  const auto taken = [&](const auto& line) { return line->name() == name; };
  for (int n = 2; std::any_of(lines.begin(), lines.end(), taken); ++n) name = fmt::format("{}_{}", wanted, n);
  return name;
}

}  // namespace

Distributor::Distributor(const BufferConfig& config, const Output& output, scheduler::Lane& lane, unit::Unit& unit,
                         Doorbell& bell, Doorbell& wake, std::shared_ptr<sink::SpecialMask> mask, unsigned comparing)
    : output_(output),
      lane_(lane),
      unit_(unit),
      bell_(bell),
      wake_(wake),
      mask_(std::move(mask)),
      stacks_(config.slots / config.stack),
      comparison_(config.stack, config.dtps.size(), comparing),
      decisions_(output.images),
      by_reason_(output.results.reasons.names().size()),
      previews_(output, lane.lost_per_image()),
      firsts_(output, {config.width, config.height, config.pixel}, lane.lost_per_image()) {
  if (config.sinks.empty()) {
    throw ConfigError(
        fmt::format("buffer '{}' has no sink; give it one, kind = \"null\" to keep nothing", config.name));
  }
  slots_ = std::make_unique<Slot[]>(stacks_);
  const std::shared_ptr<sink::ChunkBoard> chunks = chunk_board_of(config.sinks, output, config.slots);
  for (const SinkConfig& each : config.sinks) {
    SinkConfig one = each;
    one.name = free_name(lines_, each.name);
    const Output own = output_for(one, output, chunks);
    lines_.push_back(std::make_shared<SinkLine>(std::move(one), own, stacks_, lane.lost_per_image(),
                                                static_cast<LineOwner&>(*this)));
    holding_ += lines_.back()->may_drop() ? 0U : 1U;
  }
  if (config.feedback) {
    feedback_ = std::make_unique<feedback::Publisher>(*config.feedback, feedback::Described{.run = output.run,
                                                                                            .buffer = output.buffer,
                                                                                            .width = output.width,
                                                                                            .height = output.height,
                                                                                            .stack = output.stack,
                                                                                            .images = output.images,
                                                                                            .slice = output.slice,
                                                                                            .results = output.results});
  }
}

Distributor::~Distributor() { join(); }

void Distributor::begin() {
  for (auto& line : lines_) line->begin();
}

void Distributor::start(int processor) {
  try {
    for (auto& line : lines_) line->start(processor);
    thread_ = std::jthread([this, processor] { run(processor); });
  } catch (...) {
    end(0);
    throw;
  }
}

void Distributor::join() noexcept {
  if (thread_.joinable()) thread_.join();
}

void Distributor::run(int processor) {
  memory::place_this_thread("distributor", processor);
  std::uint64_t taken = 0;
  for (;;) {
    const std::uint32_t seen = bell_.count();
    if (Stack* stack = unit_.take()) {
      ++taken;
      distribute(*stack);
      continue;
    }
    if (lane_.closed() && taken == lane_.submitted()) break;
    bell_.wait(seen, kLongestWait);
  }
  end(taken);
}

// `taken`: stacks that the lines were offered.
void Distributor::end(std::uint64_t taken) noexcept {
  const Accumulated open = unit::concluded(unit_);
  if (feedback_) feedback_->end();
  for (auto& line : lines_) line->close(taken, open);
  finish(lines_);
  done_.store(true, std::memory_order_release);
}

void Distributor::distribute(Stack& stack) {
  for (StackImage& image : stack.view()) {
    const bool unsaid = image.error == ErrorReason::none;  // nobody else has had it yet
    if (image.decision == Decision::errored && unsaid) image.fail(ErrorReason::unit);
  }
  lane_.refuse_overwritten(stack, comparison_.changed(stack));
  tell_headers(stack);
  if (feedback_) feedback_->publish(stack);
  last_decided_ns_.store(stack.decided_ns, std::memory_order_relaxed);
  decided_ns_.record(stack.decided_ns - stack.ready_ns);
  if (mask_) mask_->look(stack);
  previews_.offer(stack);
  firsts_.offer(stack);
  // Before any sink has the stack: a sink's losses are taken from these counts.
  for (const StackImage& image : stack.view()) {
    decisions_[image.index].store(packed(image.decision, image.reason, image.error), std::memory_order_release);
    count(image);
  }
  Slot& slot = slots_[stack.slot];
  slot.stack = &stack;
  slot.holders.store(holding_ + 1, std::memory_order_relaxed);
  bool somewhere = false;
  for (auto& line : lines_) somewhere = line->offer(stack) || somewhere;
  if (!somewhere) {
    for (const StackImage& image : stack.view()) {
      if (image.decision == Decision::accepted)
        lost({}, image.index, image.frame_number, ErrorReason::dropped, kAllFull);
    }
  }
  let_go(stack);
}

// Behind the unit, which has cleared all numbers.
void Distributor::tell_headers(Stack& stack) const noexcept {
  const std::vector<Column>& columns = output_.results.columns;
  const auto first = std::find_if(columns.begin(), columns.end(), [](const Column& one) { return one.of_header; });
  for (StackImage& image : stack.view()) {
    auto word = image.header.begin();
    for (auto at = static_cast<std::size_t>(first - columns.begin()); at < columns.size(); ++at) {
      image.scalars[at] = image.has_header ? Scalar::of_count(*word++) : Scalar::of_integer(kNoHeader);
    }
  }
}

// Sinks may be through in any order; the link takes slots back in the order of images.
void Distributor::let_go(const Stack& stack) noexcept {
  if (slots_[stack.slot].holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  bool released = false;
  {
    const std::lock_guard lock(release_lock_);
    slots_[stack.slot].through = true;
    for (Slot* next = &slots_[released_ % stacks_]; next->through; next = &slots_[released_ % stacks_]) {
      next->through = false;
      Stack& oldest = *next->stack;
      oldest.written_ns = now_ns();
      written_ns_.record(oldest.written_ns - oldest.decided_ns);
      through_.fetch_add(oldest.count, std::memory_order_relaxed);
      ++released_;
      lane_.release(oldest);
      released = true;
    }
  }
  if (released) wake_.ring();
}

void Distributor::count(const StackImage& image) {
  by_completeness_[static_cast<std::size_t>(image.completeness)].fetch_add(1, std::memory_order_relaxed);
  by_decision_[static_cast<std::size_t>(image.decision)].fetch_add(1, std::memory_order_relaxed);
  if (image.decision == Decision::vetoed)
    by_reason_[static_cast<std::size_t>(image.reason)].fetch_add(1, std::memory_order_relaxed);
  if (image.decision != Decision::errored) return;
  note_errored(image.index, image.frame_number, image.error, text_or_nothing([&] { return why_errored(image); }));
}

std::string Distributor::why_errored(const StackImage& image) const {
  if (image.error == ErrorReason::overwritten) return std::string(kWrittenAgain);
  std::string text = unit_.error();
  if (text.empty()) text = unit_.failure(image.failed_in);
  if (text.empty() && output_.list_capacity > 0) text = full_list_text(output_);
  return text.empty() ? "the unit could not finish it, or was ended" : text;
}

// Takes a lock, and only for an image that is lost anyway.
void Distributor::note_errored(std::uint64_t index, std::uint64_t frame, ErrorReason reason,
                               const std::string& text) noexcept {
  by_error_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  if (reason == ErrorReason::overwritten) lane_.count_overwritten(1);
  log::write(said_[static_cast<std::size_t>(reason)], log::Level::error,
             {.run = lane_.config().run, .buffer = output_.buffer, .frame = static_cast<std::int64_t>(frame)},
             "image {} is errored ({}): {}", index, name_of(reason), text);
  tell([&] {
    const std::lock_guard lock(error_lock_);
    if (first_errored_ && first_errored_->index <= index) return;
    first_errored_ = FirstErrored{.index = index, .frame_number = frame, .reason = reason, .text = text};
  });
}

void Distributor::lost(std::string_view name, std::uint64_t index, std::uint64_t frame, ErrorReason reason,
                       const std::string& text) noexcept {
  const auto fate = decisions_[index];
  // acq_rel: a line that errors an image and this object's thread settle it once
  std::uint16_t before = fate.load(std::memory_order_acquire);
  const std::uint16_t after = packed(Decision::errored, VetoReason::none, reason);
  do {
    if (decision_of(before) != Decision::accepted) return;  // another sink has lost it, too
  } while (!fate.compare_exchange_weak(before, after, std::memory_order_acq_rel));
  lost_.fetch_add(1, std::memory_order_release);
  const bool of_several = lines_.size() > 1 && !name.empty();
  note_errored(index, frame, reason,
               text_or_nothing([&] { return of_several ? fmt::format("sink {}: {}", name, text) : text; }));
}

// Of several sinks, another one has it.
void Distributor::passed_over(std::uint64_t index, std::uint64_t frame, const std::string& text) noexcept {
  if (lines_.size() == 1) lost({}, index, frame, ErrorReason::dropped, text);
}

sink::SkippedImage Distributor::skipped(std::uint64_t index) const noexcept {
  const std::uint16_t fate = decisions_[index].load(std::memory_order_acquire);
  sink::SkippedImage image{.index = index,
                           .frame_number = output_.slice.frame(index),
                           .completeness = lane_.completeness().get(index),
                           .decision = decision_of(fate),
                           .reason = reason_of(fate),
                           .error = error_of(fate)};
  const bool by_a_sink = image.error == ErrorReason::storage || image.error == ErrorReason::dropped;
  if (image.decision == Decision::accepted || by_a_sink) {
    image.decision = Decision::errored;
    image.error = ErrorReason::dropped;
  }
  return image;
}

std::string Distributor::error() const {
  for (const auto& line : lines_) {
    if (std::string error = line->error(); !error.empty()) {
      return lines_.size() > 1 ? fmt::format("sink {}: {}", line->name(), error) : error;
    }
  }
  return {};
}

Books Distributor::decided() const noexcept {
  const auto completeness = [this](Completeness state) {
    return by_completeness_[static_cast<std::size_t>(state)].load(std::memory_order_relaxed);
  };
  const auto decided = [this](Decision decision) {
    return by_decision_[static_cast<std::size_t>(decision)].load(std::memory_order_relaxed);
  };
  Books books;
  books.complete = completeness(Completeness::complete);
  books.partial = completeness(Completeness::partial);
  books.missing = completeness(Completeness::missing);
  if (lane_.closed()) {
    // Images of which nothing ever came have no stack; the lane's table holds them as missing.
    for (std::uint64_t image = lane_.submitted() * lane_.config().stack; image < lane_.images(); ++image) {
      books.missing += lane_.completeness().get(image) == Completeness::missing ? 1U : 0U;
    }
  }
  books.accepted = decided(Decision::accepted);
  books.vetoed = decided(Decision::vetoed);
  books.errored = decided(Decision::errored);
  books.expected = lane_.images();  // last: an image is due, then decided
  return books;
}

Books Distributor::books() const noexcept {
  const Books books = decided();  // before the lost ones: an image is decided, then lost
  return settled(books, lost_.load(std::memory_order_acquire), lines_);
}

std::vector<ReasonCount> Distributor::vetoes() const {
  std::vector<ReasonCount> all;
  const std::vector<std::string>& names = output_.results.reasons.names();
  for (std::size_t i = 1; i < names.size(); ++i) {
    all.push_back({.name = names[i], .images = by_reason_[i].load(std::memory_order_relaxed)});
  }
  return all;
}

std::array<std::uint64_t, kErrorReasons> Distributor::errors() const noexcept {
  std::array<std::uint64_t, kErrorReasons> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = by_error_[i].load(std::memory_order_relaxed);
  return all;
}

std::optional<FirstErrored> Distributor::first_errored() const {
  const std::lock_guard lock(error_lock_);
  return first_errored_;
}

std::uint64_t Distributor::to_write() const noexcept {
  const std::uint64_t handed = std::min(lane_.submitted() * lane_.config().stack, lane_.images());
  const std::uint64_t through = through_.load(std::memory_order_relaxed);
  return handed - std::min(handed, through);
}

Decision Distributor::decision(std::uint64_t image) const noexcept {
  return image < output_.images ? decision_of(decisions_[image].load(std::memory_order_relaxed)) : Decision::none;
}

}  // namespace rashpa::receiver
