// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/dealt.hpp"
#include "rashpa/scheduler/lost_lines.hpp"

namespace rashpa::scheduler {

Lane::Lane(LaneConfig config, unit::Unit& unit, link::Receiver& link)
    : config_(std::move(config)),
      unit_(unit),
      link_(link),
      dtps_(config_.dtps.size()),
      watching_(able<const link::Watching>(link_)),
      sources_write_(link_.sources_write()),
      clock_(config_.deadline_ns, config_.quiet_ns),
      completeness_(config_.images),
      limit_(config_.images),
      images_(config_.end == End::known ? config_.images : 0),
      end_known_(config_.end == End::known) {
  if (config_.stack == 0 || config_.slots % config_.stack != 0 || config_.slots < 2 * config_.stack) {
    throw ConfigError(fmt::format(
        "buffer '{}': {} slots do not hold a whole number of at least two stacks of {} images; try slots = {}",
        config_.name, config_.slots, config_.stack, std::max(4U * config_.stack, 4U)));
  }
  if (config_.dtps.empty()) throw ConfigError(fmt::format("buffer '{}': no DTP writes into it", config_.name));
  for (const LaneDtp& dtp : config_.dtps) lost_per_image_ += most_lost_runs(dtp.placement.lines);
  states_.resize(config_.slots);
  lost_.resize(static_cast<std::size_t>(config_.slots) * lost_per_image_);
  sums_.resize(static_cast<std::size_t>(config_.slots) * dtps_.size());
  stacks_.resize(config_.slots / config_.stack);
  for (std::size_t slot = 0; slot < stacks_.size(); ++slot) {
    stacks_[slot].slot = static_cast<std::uint32_t>(slot);
    stacks_[slot].guard = this;
    stacks_[slot].images.resize(config_.stack);
    for (std::uint32_t i = 0; i < config_.stack; ++i) {
      const std::size_t image = slot * config_.stack + i;
      if (config_.device_images == nullptr) {
        stacks_[slot].images[i].raw = config_.memory + config_.pixels_offset + image * config_.slot_bytes;
      }
      stacks_[slot].images[i].lost = lost_.data() + image * lost_per_image_;
    }
  }
}

std::uint64_t Lane::end_of(std::uint64_t stack) const noexcept { return std::min((stack + 1) * config_.stack, limit_); }

bool Lane::can_take(const link::Arrival& arrival) const noexcept {
  return arrival.index >= limit_ ||
         arrival.index / config_.stack < released_.load(std::memory_order_acquire) + stacks_.size();
}

// Clears the stack's inputs and results; its slots have been released, nobody else looks at it.
void Lane::open(std::uint64_t number) noexcept {
  Stack& stack = stack_of(number);
  stack.number = number;
  stack.count = static_cast<std::uint32_t>(end_of(number) - number * config_.stack);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    StackImage& image = stack.images[i];
    std::byte* raw = image.raw;
    LostRun* lost = image.lost;
    image = StackImage{};
    image.raw = raw;
    image.lost = lost;
    image.index = number * config_.stack + i;
    image.frame_number = config_.slice.frame(image.index);
    states_[image.index % config_.slots] = ImageState{};
    const std::size_t slot = image.index % config_.slots;
    const std::span<PayloadSum> sums(sums_.data() + slot * dtps_.size(), dtps_.size());
    for (std::size_t dtp = 0; dtp < sums.size(); ++dtp) {
      const Placement& placement = config_.dtps[dtp].placement;
      sums[dtp] = {placement.first_line_offset, placement.pitch, placement.line_bytes, placement.lines};
    }
    image.sums = sums;
  }
}

void Lane::count(DtpState& state, const link::Arrival& arrival) noexcept {
  auto& counter = arrival.completeness == Completeness::complete  ? state.complete
                  : arrival.completeness == Completeness::partial ? state.partial
                                                                  : state.missing;
  counter.fetch_add(1, std::memory_order_relaxed);
  state.losses[static_cast<std::size_t>(arrival.loss) % 6].fetch_add(1, std::memory_order_relaxed);
  state.lines_missing.fetch_add(arrival.lines_missing, std::memory_order_relaxed);
}

// Called in order of images, so that the first one noted is the lowest.
void Lane::note_first(std::uint64_t index, std::size_t dtp, link::Loss loss) noexcept {
  if (first_.known.load(std::memory_order_relaxed)) return;
  first_.index = index;
  first_.frame = config_.slice.frame(index);
  first_.dtp = config_.dtps[dtp].id;
  first_.module = config_.dtps[dtp].module;
  first_.loss = loss;
  first_.ended = abandoned_ && loss == link::Loss::deadline;
  first_.known.store(true, std::memory_order_release);
}

void Lane::add_lost(StackImage& image, std::size_t dtp, const link::Arrival& arrival) noexcept {
  const LaneDtp& lane_dtp = config_.dtps[dtp];
  const std::span<LostRun> room(image.lost + image.lost_count, lost_per_image_ - image.lost_count);
  if (arrival.completeness == Completeness::partial && arrival.loss == link::Loss::lines && arrival.map != nullptr) {
    image.lost_count += list_lost_runs(*arrival.map, lane_dtp.id, room);
  } else if (!room.empty()) {
    room[0] = {lane_dtp.id, 0, lane_dtp.placement.lines};  // nothing of it is proven
    ++image.lost_count;
  }
}

// For the log, of a few of them. Nothing is said of images that only the end of the run has left open.
void Lane::say_lost(const StackImage& image, std::size_t dtp, const link::Arrival& arrival) noexcept {
  if (abandoned_) return;
  const LaneDtp& one = config_.dtps[dtp];
  const log::Where where{.run = config_.run,
                         .buffer = config_.name,
                         .dtp = one.id,
                         .frame = static_cast<std::int64_t>(image.frame_number)};
  log::Limiter& limiter = dtps_[dtp].said[static_cast<std::size_t>(arrival.loss) % 6];
  const auto say = [&](const char* words) { log::write(limiter, log::Level::warning, where, "{}", words); };
  switch (arrival.loss) {
    case link::Loss::lines: {
      const auto lost = image.lost_runs();
      const auto first = std::find_if(lost.begin(), lost.end(), [&](const LostRun& run) { return run.dtp == one.id; });
      return log::write(limiter, log::Level::warning, where, "{} of {} lines are lost, the first is line {}",
                        arrival.lines_missing, one.placement.lines, first != lost.end() ? first->first_line : 0);
    }
    case link::Loss::event:
      return say("its event is lost");
    case link::Loss::deadline:
      return say("the DTP stalls: nothing of the image came before the deadline");
    case link::Loss::overrun:
      return say("the slot of the image was not free");
    case link::Loss::corrupt:
      return say("no line of the image is proven by its CRC32C");
    case link::Loss::none:
      return;
  }
}

// Lost lines never look like measured ones. Of a missing image nobody reads a pixel.
void Lane::fill(const StackImage& image) noexcept {
  for (const LostRun& run : image.lost_runs()) {
    if (config_.device_images != nullptr) {
      config_.device_images->fill(part_of(image, run));
    } else {
      fill_lost(image.raw, placement_of(run), config_.pixel, run);
    }
  }
}

// Whether what fill() wrote is still there: a source that was late may have written its lines over it.
bool Lane::filled(const StackImage& image) const noexcept {
  const auto lost = image.lost_runs();
  return std::all_of(lost.begin(), lost.end(), [&](const LostRun& run) {
    if (config_.device_images != nullptr) return config_.device_images->holds_lost(part_of(image, run));
    return holds_lost(image.raw, placement_of(run), config_.pixel, run);
  });
}

const Placement& Lane::placement_of(const LostRun& run) const noexcept {
  const auto dtp =
      std::find_if(config_.dtps.begin(), config_.dtps.end(), [&](const LaneDtp& one) { return one.id == run.dtp; });
  return dtp->placement;
}

memory::LostPart Lane::part_of(const StackImage& image, const LostRun& run) const noexcept {
  const Placement& placement = placement_of(run);
  const std::uint64_t slot = config_.pixels_offset + image.index % config_.slots * config_.slot_bytes;
  return {.first = slot + placement.first_line_offset + std::uint64_t{run.first_line} * placement.pitch,
          .pitch = placement.pitch,
          .line_bytes = placement.line_bytes,
          .lines = run.lines,
          .type = config_.pixel};
}

// Where records tell the frames, DTPs that disagree about an image's have not brought one image.
link::Arrival Lane::agreed(const StackImage& image, const link::Arrival& arrival) const noexcept {
  const bool tells = config_.slice == kToldByRecords && arrival.completeness != Completeness::missing;
  if (!tells || image.frame_number == kUnknownFrame || arrival.record.frame_number == image.frame_number)
    return arrival;
  link::Arrival lost = arrival;
  lost.completeness = Completeness::missing;
  lost.loss = link::Loss::corrupt;
  lost.proof = link::Proof::none;
  lost.lines_missing = config_.dtps.front().placement.lines;
  lost.map = nullptr;
  return lost;
}

// Sources that have filled all slots wait for us, and those that are through have nothing to send.
std::int64_t Lane::look(std::int64_t now) noexcept {
  const std::uint64_t granted = released_.load(std::memory_order_acquire) * config_.stack + config_.slots;
  return clock_.look(now, finishing_ || due() >= granted);
}

void Lane::take(std::size_t dtp, const link::Arrival& come, std::int64_t now) noexcept {
  const std::int64_t time = look(now);
  if (come.index >= limit_) {
    behind_end_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t number = come.index / config_.stack;
  while (opened_ <= number) open(opened_++);
  DtpState& state = dtps_[dtp];
  StackImage& image = stack_of(number).images[come.index % config_.stack];
  const link::Arrival arrival = agreed(image, come);
  ImageState& seen = states_[arrival.index % config_.slots];
  state.next = arrival.index + 1;
  if (state.next > images_.load(std::memory_order_relaxed)) images_.store(state.next, std::memory_order_release);
  if (seen.due_ns == 0) seen.due_ns = time;
  count(state, arrival);
  if (arrival.loss != link::Loss::deadline) {
    state.silent = false;
    state.heard = true;
    clock_.heard();
  }
  if (arrival.completeness == Completeness::complete) {
    ++seen.complete;
    PayloadSum& sum = sums_[arrival.index % config_.slots * dtps_.size() + dtp];
    sum.crc32c = arrival.record.payload_crc32c;
    sum.known = arrival.record.payload_bytes == config_.dtps[dtp].placement.payload_bytes();
    sum.compared = sum.known && sources_write_ && arrival.proof == link::Proof::crc;
  } else {
    if (arrival.completeness == Completeness::missing) ++seen.missing;
    if (seen.loss == link::Loss::none) {
      seen.lost_dtp = static_cast<std::uint32_t>(dtp);
      seen.loss = arrival.loss;
    }
    add_lost(image, dtp, arrival);
    say_lost(image, dtp, arrival);
  }
  if (arrival.completeness != Completeness::missing) {
    if (config_.slice == kToldByRecords) image.frame_number = arrival.record.frame_number;
    image.flags |= arrival.record.flags;
    if (image.timestamp_ns == 0) image.timestamp_ns = arrival.record.timestamp_ns;
    image.last_packet_ns = std::max(image.last_packet_ns, arrival.last_packet_ns);
    if (first_packet_ns_.load(std::memory_order_relaxed) == 0) {
      first_packet_ns_.store(arrival.last_packet_ns, std::memory_order_relaxed);
    }
  }
}

void Lane::close_behind(std::uint64_t end) noexcept {
  for (std::size_t dtp = 0; dtp < dtps_.size(); ++dtp) {
    if (dtps_[dtp].next < end) link_.close(config_.dtps[dtp].position, end);
  }
}

bool Lane::advance(std::int64_t now) noexcept {
  const std::int64_t time = look(now);
  if (done()) return false;
  const std::uint64_t end = end_of(next_stack_);
  bool all = true;
  bool all_but_silent = true;
  bool any_heard = false;
  for (const DtpState& dtp : dtps_) {
    all = all && dtp.next >= end;
    all_but_silent = all_but_silent && (dtp.next >= end || dtp.silent);
    any_heard = any_heard || !dtp.silent;
  }
  if (all) {
    submit(now);
    return true;
  }
  if (closed_all_) return false;
  if (finishing_ && clock_.silence() > config_.deadline_ns) {
    close_behind(limit_);
    closing_ = closed_all_ = true;
    return false;
  }
  const bool known = end_known_.load(std::memory_order_relaxed);
  if ((known && all_but_silent && any_heard) || quiet()) {
    close_to(end);
  } else {
    close_overdue(end, time);
  }
  return false;
}

// Images < due are due: some DTP has sent them.
std::uint64_t Lane::due() const noexcept {
  std::uint64_t due = 0;
  for (const DtpState& dtp : dtps_) due = std::max(due, dtp.next);
  return due;
}

// Whether the sources may wait for this stack's slots, although nobody knows whether they have sent it.
bool Lane::quiet() const noexcept {
  if (config_.quiet_ns == 0 || !end_known_.load(std::memory_order_relaxed)) return false;
  return due() > next_stack_ * config_.stack && clock_.silence() > config_.quiet_ns;
}

void Lane::close_to(std::uint64_t end) noexcept {
  if (end <= closed_to_) return;
  close_behind(end);
  closed_to_ = end;
  closing_ = true;
}

// Of the images that are due, those that have been so for longer than the deadline. Of what is behind the latest that
// has come nobody knows whether it is. An end that is not known is not waited for by DTPs that were silent before.
void Lane::close_overdue(std::uint64_t end, std::int64_t time) noexcept {
  const std::uint64_t due = std::min(end, this->due());
  std::uint64_t first = end;
  bool heard_all = !end_known_.load(std::memory_order_relaxed);  // all that are still waited for
  for (const DtpState& dtp : dtps_) {
    first = std::min(first, dtp.next);
    heard_all = heard_all && (dtp.next >= due || dtp.silent);
  }
  std::uint64_t overdue = first;
  while (overdue < due) {
    const std::int64_t since = std::max(states_[overdue % config_.slots].due_ns, told_ns_);
    if (!heard_all && time - since <= config_.deadline_ns) break;
    ++overdue;
  }
  if (overdue != first) close_to(overdue);
}

void Lane::set_end(std::uint64_t end) noexcept {
  limit_ = end;
  images_.store(end, std::memory_order_release);
  end_known_.store(true, std::memory_order_release);
}

void Lane::submit(std::int64_t now) noexcept {
  Stack& stack = stack_of(next_stack_);
  stack.count = static_cast<std::uint32_t>(end_of(next_stack_) - next_stack_ * config_.stack);
  std::int64_t last_packet = 0;
  bool filled = false;
  for (StackImage& image : stack.view()) {
    const ImageState& seen = states_[image.index % config_.slots];
    image.completeness = seen.complete == dtps_.size()  ? Completeness::complete
                         : seen.missing == dtps_.size() ? Completeness::missing
                                                        : Completeness::partial;
    if (image.completeness == Completeness::partial) {
      fill(image);
      filled = true;
    }
    completeness_.set(image.index, image.completeness);
    if (image.completeness != Completeness::complete) note_first(image.index, seen.lost_dtp, seen.loss);
    last_packet = std::max(last_packet, image.last_packet_ns);
  }
  if (filled && config_.device_images != nullptr) config_.device_images->settle();
  stack.ready_ns = now;
  if (last_packet > 0) ready_.record(now - last_packet);
  for (DtpState& dtp : dtps_) {
    if (closing_ && !dtp.heard) dtp.silent = true;
    dtp.heard = dtp.next > end_of(next_stack_);
  }
  ++next_stack_;
  closing_ = false;
  submitted_.fetch_add(1, std::memory_order_release);
  unit_.submit(&stack);
}

void Lane::hold_deadlines(bool held, std::int64_t now) noexcept {
  look(now);
  clock_.hold(held && !finishing_);
}

void Lane::finish(std::int64_t now, std::optional<std::uint64_t> end) noexcept {
  finishing_ = true;
  const std::int64_t time = look(now);
  clock_.hold(false);
  clock_.heard();
  if (end_known_.load(std::memory_order_relaxed)) {
    std::uint64_t come = 0;
    for (const DtpState& dtp : dtps_) come = std::max(come, dtp.next);
    if (end && std::max(come, *end) < limit_) set_end(std::max(come, *end));
    return;
  }
  const std::uint64_t come = images_.load(std::memory_order_relaxed);
  set_end(std::min(std::max(come, end.value_or(come)), config_.images));
  told_ns_ = time;  // what is due since now has its deadline from now on
  closing_ = false;
}

void Lane::abandon(std::int64_t now) noexcept {
  abandoned_ = true;
  if (!end_known_.load(std::memory_order_relaxed)) set_end(images_.load(std::memory_order_relaxed));
  while (!done()) {
    const std::uint64_t end = end_of(next_stack_);
    const bool begun = std::any_of(dtps_.begin(), dtps_.end(),
                                   [&](const DtpState& dtp) { return dtp.next > next_stack_ * config_.stack; });
    if (!begun) break;
    for (std::size_t dtp = 0; dtp < dtps_.size(); ++dtp) {
      while (dtps_[dtp].next < end) {
        link::Arrival lost{};
        lost.dtp = config_.dtps[dtp].position;
        lost.index = dtps_[dtp].next;
        lost.loss = link::Loss::deadline;
        lost.lines_missing = config_.dtps[dtp].placement.lines;
        take(dtp, lost, now);
      }
    }
    submit(now);
  }
  // What never began is missing by arithmetic: there is no stack to hand on.
  for (std::uint64_t index = next_stack_ * config_.stack; index < limit_; ++index) {
    completeness_.set(index, Completeness::missing);
  }
  for (std::size_t dtp = 0; dtp < dtps_.size(); ++dtp) {
    const std::uint64_t rest = limit_ - std::min(limit_, dtps_[dtp].next);
    if (rest == 0) continue;
    note_first(dtps_[dtp].next, dtp, link::Loss::deadline);
    dtps_[dtp].missing.fetch_add(rest, std::memory_order_relaxed);
    dtps_[dtp].losses[static_cast<std::size_t>(link::Loss::deadline)].fetch_add(rest, std::memory_order_relaxed);
  }
}

bool Lane::overwritten(const StackImage& image) const noexcept {
  if (sources_write_ && image.completeness == Completeness::partial) {
    // Acquire: the lane's thread reads the slot before the source's marks.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!filled(image)) return true;
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
  released_.store(stack.number + 1, std::memory_order_release);
  for (const LaneDtp& dtp : config_.dtps) link_.release(dtp.position, end);
}

LaneDtpStats Lane::dtp_stats(std::size_t dtp) const noexcept {
  const DtpState& state = dtps_[dtp];
  LaneDtpStats stats{.complete = state.complete.load(std::memory_order_relaxed),
                     .partial = state.partial.load(std::memory_order_relaxed),
                     .missing = state.missing.load(std::memory_order_relaxed),
                     .lines_missing = state.lines_missing.load(std::memory_order_relaxed)};
  for (std::size_t i = 0; i < stats.losses.size(); ++i)
    stats.losses[i] = state.losses[i].load(std::memory_order_relaxed);
  return stats;
}

}  // namespace rashpa::scheduler
