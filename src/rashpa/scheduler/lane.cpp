// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane.hpp"

#include <algorithm>
#include <utility>

#include "rashpa/core/ability.hpp"

namespace rashpa::scheduler {

namespace {

bool has_parts(const LaneConfig& config) {
  return std::any_of(config.dtps.begin(), config.dtps.end(),
                     [](const LaneDtp& dtp) { return dtp.placement.parts() > 1; });
}

}  // namespace

Lane::Lane(LaneConfig config, unit::Unit& unit, link::Receiver& link)
    : config_(std::move(config)),
      unit_(unit),
      link_(link),
      watching_(able<const link::Watching>(link_)),
      parted_(able<const link::Parted>(link_)),
      beginning_(parted_ != nullptr && has_parts(config_) ? able<unit::Beginning>(unit_) : nullptr),
      begun_(config_.stack),
      sources_write_(link_.sources_write()),
      ring_(config_, *this, sources_write_),
      deadlines_(config_.dtps.size(), config_.slots, config_.deadline_ns, config_.quiet_ns),
      losses_(config_),
      lost_pixels_(config_),
      completeness_(config_.images),
      limit_(config_.images),
      images_(config_.end == End::known ? config_.images : 0),
      end_known_(config_.end == End::known) {}

bool Lane::can_take(const link::Arrival& arrival) const noexcept {
  return arrival.index >= limit_ || ring_.is_free(arrival.index);
}

void Lane::take(std::size_t dtp, const link::Arrival& come, std::int64_t now) noexcept {
  look(now);
  if (come.index >= limit_) {
    behind_end_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  ring_.open_to(come.index, limit_);
  if (ring_.agrees(come)) {
    count(dtp, come);
  } else {
    count(dtp, ring_.refused(come));
  }
}

void Lane::count(std::size_t dtp, const link::Arrival& arrival) noexcept {
  ring_.take(dtp, arrival);
  deadlines_.came(dtp, arrival.index, arrival.loss != link::Loss::deadline);
  const std::uint64_t next = arrival.index + 1;
  if (next > images_.load(std::memory_order_relaxed)) images_.store(next, std::memory_order_release);
  losses_.count(dtp, arrival);
  // Nothing is said of images that only the end of the run has left open.
  if (arrival.completeness != Completeness::complete && !abandoned_) {
    losses_.say(dtp, arrival, ring_.image(arrival.index));
  }
  if (arrival.completeness != Completeness::missing && first_packet_ns_.load(std::memory_order_relaxed) == 0) {
    first_packet_ns_.store(arrival.last_packet_ns, std::memory_order_relaxed);
  }
}

// Images before `end`, by all DTPs that are behind: they come from the link as arrivals.
void Lane::give_up(std::uint64_t end) noexcept {
  for (std::size_t dtp = 0; dtp < config_.dtps.size(); ++dtp) {
    if (deadlines_.next(dtp) < end) link_.close(config_.dtps[dtp].position, end);
  }
}

bool Lane::advance(std::int64_t now) noexcept {
  look(now);
  if (done()) return false;
  const std::uint64_t end = ring_.end_of(next_stack_, limit_);
  if (deadlines_.all_there(end)) {
    submit(now);
    return true;
  }
  if (beginning_ != nullptr) begin_early();
  const Deadlines::Known run{limit_, end_known_.load(std::memory_order_relaxed)};
  if (const auto to = deadlines_.given_up(next_stack_ * config_.stack, end, run)) give_up(*to);
  return false;
}

// A unit that is busy is asked again at the next part, or when the scheduler next looks.
void Lane::begin_early() noexcept {
  const std::uint64_t first = next_stack_ * config_.stack;
  if (!ring_.is_free(first)) return;
  ring_.open_to(first, limit_);
  Stack& stack = ring_.of(next_stack_);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const std::uint64_t pixels = pixels_there(first + i);
    if (pixels <= begun_[i]) continue;
    if (!beginning_->begin_early(stack, i, pixels)) return;
    begun_[i] = pixels;
  }
}

// Pixels of an image from its first on that are in memory; gaps between modules count as there.
std::uint64_t Lane::pixels_there(std::uint64_t index) const noexcept {
  std::uint64_t pixels = link::kUnlimited;
  for (std::size_t dtp = 0; dtp < config_.dtps.size(); ++dtp) {
    const LaneDtp& one = config_.dtps[dtp];
    const Placement& p = one.placement;
    if (deadlines_.next(dtp) > index) continue;
    const link::PartProgress progress = parted_->progress(one.position);
    const std::uint32_t lines = progress.index == index ? progress.lines : progress.index > index ? p.lines : 0;
    if (lines >= p.lines) continue;
    const std::uint64_t pixel = pixel_bytes(config_.pixel);
    const std::uint64_t row = p.first_line_offset / p.pitch + lines;
    pixels = std::min(pixels, row * p.pitch / pixel);
  }
  return pixels;
}

void Lane::set_end(std::uint64_t end) noexcept {
  limit_ = end;
  images_.store(end, std::memory_order_release);
  end_known_.store(true, std::memory_order_release);
}

void Lane::submit(std::int64_t now) noexcept {
  Stack& stack = ring_.close(next_stack_, limit_);
  std::int64_t last_packet = 0;
  bool filled = false;
  // Before lost lines are filled, too: a write that is still under way would be over them.
  if (config_.device_images != nullptr) config_.device_images->order_writes();
  for (const StackImage& image : stack.view()) {
    if (image.completeness == Completeness::partial) {
      lost_pixels_.fill(image);
      filled = true;
    }
    completeness_.set(image.index, image.completeness);
    if (image.completeness != Completeness::complete) {
      const StackRing::FirstLoss first = ring_.first_loss(image.index);
      losses_.note_first(image.index, first.dtp, first.loss, abandoned_ && first.loss == link::Loss::deadline);
    }
    last_packet = std::max(last_packet, image.last_packet_ns);
  }
  if (filled) lost_pixels_.settle();
  stack.ready_ns = now;
  if (last_packet > 0) ready_.record(now - last_packet);
  std::fill(begun_.begin(), begun_.end(), 0);
  deadlines_.handed_on(ring_.end_of(next_stack_, limit_));
  ++next_stack_;
  submitted_.fetch_add(1, std::memory_order_release);
  unit_.submit(&stack);
}

void Lane::hold_deadlines(bool held, std::int64_t now) noexcept {
  look(now);
  deadlines_.hold(held);
}

void Lane::finish(std::int64_t now, std::optional<std::uint64_t> end) noexcept {
  deadlines_.finish(now);
  if (end_known_.load(std::memory_order_relaxed)) {
    if (end && std::max(deadlines_.due(), *end) < limit_) set_end(std::max(deadlines_.due(), *end));
    return;
  }
  const std::uint64_t come = images_.load(std::memory_order_relaxed);
  set_end(std::min(std::max(come, end.value_or(come)), config_.images));
  deadlines_.tell_end();
}

void Lane::abandon(std::int64_t now) noexcept {
  abandoned_ = true;
  if (!end_known_.load(std::memory_order_relaxed)) set_end(images_.load(std::memory_order_relaxed));
  while (!done() && deadlines_.begun(next_stack_ * config_.stack)) {
    give_up_stack(ring_.end_of(next_stack_, limit_), now);
    submit(now);
  }
  give_up_rest();
}

void Lane::give_up_stack(std::uint64_t end, std::int64_t now) noexcept {
  for (std::size_t dtp = 0; dtp < config_.dtps.size(); ++dtp) {
    while (deadlines_.next(dtp) < end) {
      link::Arrival lost{};
      lost.dtp = config_.dtps[dtp].position;
      lost.index = deadlines_.next(dtp);
      lost.loss = link::Loss::deadline;
      lost.lines_missing = config_.dtps[dtp].placement.lines;
      take(dtp, lost, now);
    }
  }
}

// Images that never began are missing by arithmetic: there is no stack to hand on.
void Lane::give_up_rest() noexcept {
  for (std::uint64_t index = next_stack_ * config_.stack; index < limit_; ++index) {
    completeness_.set(index, Completeness::missing);
  }
  for (std::size_t dtp = 0; dtp < config_.dtps.size(); ++dtp) {
    const std::uint64_t next = deadlines_.next(dtp);
    if (next >= limit_) continue;
    losses_.note_first(next, dtp, link::Loss::deadline, true);
    losses_.count_never_come(dtp, limit_ - next);
  }
}

bool Lane::overwritten(const StackImage& image) const noexcept {
  if (sources_write_ && image.completeness == Completeness::partial) {
    // Acquire: the lane's thread reads the slot before the source's marks.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!lost_pixels_.filled(image)) return true;
  }
  return watching_ != nullptr && std::any_of(config_.dtps.begin(), config_.dtps.end(), [&](const LaneDtp& dtp) {
           return watching_->overwritten(dtp.position, image.index);
         });
}

void Lane::refuse_overwritten(Stack& stack, std::span<const std::uint8_t> changed) noexcept {
  for (std::size_t i = 0; i < stack.count; ++i) {
    StackImage& image = stack.images[i];
    const bool decided = image.decision == Decision::accepted || image.decision == Decision::vetoed;
    if (!decided || image.proved) continue;
    if ((!changed.empty() && changed[i] != 0) || overwritten(image)) image.fail(ErrorReason::overwritten);
  }
}

void Lane::release(const Stack& stack) noexcept {
  const std::uint64_t end = stack.number * config_.stack + stack.count;
  ring_.release(stack.number);
  for (const LaneDtp& dtp : config_.dtps) link_.release(dtp.position, end);
}

}  // namespace rashpa::scheduler
