// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/dtp_source.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/frame/part_record.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/core/time/running_clock.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::transfer {

namespace {

constexpr std::size_t kBatch = 64;           // two halves: one in flight while the other is made
constexpr std::uint32_t kPollUs = 500;       // longest sleep while waiting for credits or the window
constexpr std::uint32_t kTriggerUs = 100;    // between two looks whether a trigger has come
constexpr std::int64_t kSpinNs = 60'000;     // the last stretch before a frame is due is spun, timers are coarser
constexpr std::int64_t kPendingNs = 50'000;  // longest sleep while an engine has something on its way
constexpr std::int64_t kStarvedNs = 1'000'000'000;  // without credits, before the log says so
constexpr std::int64_t kHearNs = 1'000'000;         // while images are dealt, between two reads of the answers
constexpr std::int64_t kStallStepNs = 5'000'000;    // of an injected stall, between two looks whether it is to end
constexpr std::int64_t kDrainNs =
    10'000'000'000;  // longest wait for the link: a reliable one gives up by itself before

void sleep_ns(std::int64_t ns) {
  if (ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

}  // namespace

DtpSource::DtpSource(const DtpSourceConfig& config, const FrameSource& frames, link::Sender& sender,
                     Dealer::Port* dealt)
    : config_(config),
      frames_(frames),
      sender_(sender),
      image_aware_(able<link::ImageAware>(sender)),
      answering_(able<const link::Answering>(sender)),
      checksumming_(able<const link::Checksumming>(sender)),
      dealt_(dealt),
      generator_(config.dtp.region, config.pitch_bytes, config.pixel_bytes, config.dtp.placement,
                 sender.largest_message()),
      sent_(dealt == nullptr ? config.dtp.images : 0),
      stalls_of_(config.faults.seed, Use::image_stall, config.dtp.id),
      limit_(config.dtp.images) {
  if (checksumming_ != nullptr && !checksumming_->makes_payload_crc32c()) checksumming_ = nullptr;
  if (checksumming_ != nullptr) return;
  const std::uint32_t parts = config.dtp.placement.parts();
  crcs_.resize(frames.frames() * parts);
  const std::uint64_t first = std::min<std::uint64_t>(config.dtp.images, frames.frames());
  for (std::uint64_t index = 0; dealt == nullptr && index < first; ++index) {
    for (std::uint32_t part = 0; part < parts; ++part) crc_of(config.dtp.slice.frame(index), part);
  }
}

// Where the link does not make it on its way, bytes that do not change are read once.
std::uint32_t DtpSource::crc_of(std::uint64_t frame, std::uint32_t part) {
  const Placement& place = config_.dtp.placement;
  std::optional<std::uint32_t>& known = crcs_[frame % (crcs_.size() / place.parts()) * place.parts() + part];
  if (known) return *known;
  std::uint32_t crc = 0;
  std::array<link::BufferDescriptor, kBatch / 2> runs{};
  generator_.begin(frames_.frame(frame), 0, part == 0 ? 0 : place.part_end(part - 1));
  generator_.end_at(place.part_end(part));
  while (const std::size_t made = generator_.next(runs)) {
    for (std::size_t i = 0; i < made; ++i) crc = crc32c({runs[i].source, runs[i].bytes}, crc);
  }
  known = crc;
  return crc;
}

void DtpSource::poll(std::uint32_t wait_us) {
  if (untold_) tell_skipped();
  outstanding_ -= std::min<std::uint64_t>(outstanding_, sender_.poll(wait_us));
}

void DtpSource::run(const std::stop_token& stop, std::int64_t start_ns, std::uint64_t start_tai_ns) {
  memory::place_this_thread("dtp-" + std::to_string(config_.dtp.id), config_.processor);
  start_ns_ = start_ns;
  start_tai_ns_ = start_tai_ns;
  paces_.begin({.rate_hz = config_.rate_hz, .frame = 0, .start_ns = start_ns, .times = config_.times});
  if (dealt_ != nullptr) return run_dealt(stop);
  for (std::uint64_t index = 0; index < limit_.load() && !stop.stop_requested(); ++index) {
    if (begin(stop, index) == Wait::stopped) break;
    if (config_.faults.dead_from && config_.dtp.slice.frame(index) >= *config_.faults.dead_from) {
      sent_.set(index, Completeness::missing);
      images_dead_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    stall(stop, index);
    const Wait credit = wait_for_credit(stop, index);
    if (credit == Wait::stopped) break;
    if (credit == Wait::skip) {
      skip_image(index);
      continue;
    }
    if (!send_image(stop, index, config_.dtp.slice.frame(index))) break;
    sent_.set(index, Completeness::complete);
    images_sent_.fetch_add(1, std::memory_order_relaxed);
  }
  drain(stop);
  done_.store(true, std::memory_order_release);
}

bool DtpSource::allowed(std::uint64_t index) const noexcept {
  return config_.gate == nullptr || ending_.load() || config_.dtp.slice.frame(index) < config_.gate->end();
}

// Whether a frame is due at some time, and when. Frames that triggers let through count from their trigger, unless the
// pace was changed behind it.
bool DtpSource::find_due(std::uint64_t frame) {
  const Pace& pace = paces_.of(frame);
  paced_ = pace.rate_hz > 0;
  if (!paced_) return false;
  const bool triggered = config_.gate != nullptr && config_.gate->first() >= pace.frame;
  due_ns_ = triggered ? config_.gate->due_ns(frame, pace.rate_hz) : pace.due_ns(frame);
  return true;
}

// A thread that holds either finds this image among the begun ones, or is seen here.
DtpSource::Wait DtpSource::begin(const std::stop_token& stop, std::uint64_t index) {
  for (;;) {
    if (wait_until_due(stop, index) == Wait::stopped || index >= limit_.load()) return Wait::stopped;
    begun_.store(index + 1);
    if (!held(index)) return Wait::go;
    begun_.store(index);
  }
}

// Which frame comes next, and when, is the dealer's business.
void DtpSource::run_dealt(const std::stop_token& stop) {
  std::uint64_t index = 0;
  std::int64_t heard_ns = 0;
  while (!stop.stop_requested()) {
    const std::int64_t now = now_ns();
    if (now - heard_ns > kHearNs) {  // a look for images to send may be no read of the answers
      poll(0);
      poll(0);
      heard_ns = now;
    }
    dealt_->report(sender_.granted(), index, answering_ == nullptr ? link::Answers{} : answering_->answers(), now);
    const std::optional<std::uint64_t> frame = dealt_->frame(index);
    if (!frame) {
      tell_quiet(index, now);
      poll(kPollUs);
      continue;
    }
    stall(stop, index);
    find_due(*frame);
    if (!send_image(stop, index, *frame)) break;
    images_sent_.store(++index, std::memory_order_release);
  }
  drain(stop);
  done_.store(true, std::memory_order_release);
}

void DtpSource::stall(const std::stop_token& stop, std::uint64_t index) {
  if (stalls_of_.uniform(index) >= config_.faults.stall) return;
  stalls_.fetch_add(1, std::memory_order_relaxed);
  poll(0);
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(config_.faults.stall_us) * 1000;
  for (std::int64_t now = now_ns(); now < until && !stop.stop_requested(); now = now_ns()) {
    sleep_ns(std::min(until - now, kStallStepNs));
  }
}

DtpSource::Wait DtpSource::wait_until_due(const std::stop_token& stop, std::uint64_t index) {
  while (held(index) || !allowed(index)) {
    if (stop.stop_requested()) return Wait::stopped;
    const bool paused = held(index);
    poll(paused ? kPollUs : kTriggerUs);
    sleep_ns(paused ? 1'000'000 : kTriggerUs * 1000);
  }
  if (index >= limit_.load() || !find_due(config_.dtp.slice.frame(index))) return Wait::go;
  for (std::int64_t now = now_ns(); now < due_ns_; now = now_ns()) {
    if (stop.stop_requested()) return Wait::stopped;
    if (held(index) || paces_.changed()) return wait_until_due(stop, index);
    poll(0);
    const std::int64_t left = due_ns_ - now_ns();
    const std::int64_t longest = sender_.pending() == 0 ? 2'000'000 : kPendingNs;
    if (left > kSpinNs) sleep_ns(std::min<std::int64_t>(left - kSpinNs, longest));
  }
  const std::int64_t late = now_ns() - due_ns_;
  if (late > late_ns_.load(std::memory_order_relaxed)) late_ns_.store(late, std::memory_order_relaxed);
  return Wait::go;
}

log::Where DtpSource::where(std::uint64_t index) const noexcept {
  return {.run = config_.dtp.run,
          .dtp = config_.dtp.id,
          .frame = static_cast<std::int64_t>(config_.dtp.slice.frame(index))};
}

DtpSource::Wait DtpSource::wait_for_credit(const std::stop_token& stop, std::uint64_t index) {
  std::int64_t since = 0;
  std::int64_t told = 0;
  bool said = false;
  while (index >= sender_.granted()) {
    const std::int64_t now = now_ns();
    if (since == 0) since = told = now;
    if (now - told > kStarvedNs) {
      tell_sent(index);
      told = now;
    }
    if (!said && now - since > kStarvedNs) {
      log::write(starved_, log::Level::warning, where(index),
                 "no free slot was granted for {} s: the receiver is behind, or its credits do not arrive",
                 kStarvedNs / 1'000'000'000);
      said = true;
    }
    if (stop.stop_requested()) return Wait::stopped;
    if (config_.on_full == OnFull::skip) {
      poll(0);
      if (index < sender_.granted()) break;
      log::write(skipping_, log::Level::warning, where(index), "the image is skipped: the receiver has no free slot");
      return Wait::skip;
    }
    poll(kPollUs);
  }
  if (said) {
    log::write(log::Level::info, where(index), "slots are granted again, after {:.1f} s",
               static_cast<double>(now_ns() - since) * 1e-9);
  }
  return Wait::go;
}

bool DtpSource::post_all(const std::stop_token& stop, const link::BufferDescriptor* writes, std::size_t count) {
  std::size_t posted = 0;
  while (posted < count) {
    const std::size_t taken = sender_.post({writes + posted, count - posted});
    posted += taken;
    outstanding_ += taken;
    if (posted < count) {
      if (stop.stop_requested()) return false;
      poll(kPollUs);
    }
  }
  return true;
}

bool DtpSource::send_image(const std::stop_token& stop, std::uint64_t index, std::uint64_t frame) {
  const Dtp& dtp = config_.dtp;
  untold_.reset();  // this image's own event will show it
  latest_frame_ = frame;
  if (image_aware_ != nullptr) image_aware_->begin(index);
  FrameRecord record{};
  record.dtp = dtp.id;
  record.frame_number = frame;
  record.index = index;
  record.slot = static_cast<std::uint32_t>(index % dtp.placement.slots);
  record.run = dtp.run;
  // Parts that crc_of() has not read before are read here, before the generator is at this image.
  for (std::uint32_t part = 0; part < dtp.placement.parts() && !crcs_.empty(); ++part) crc_of(frame, part);
  generator_.begin(frames_.frame(frame), index);
  for (std::uint32_t part = 0; part < dtp.placement.parts(); ++part) {
    const std::optional<std::uint32_t> crc = send_part(stop, frame, part);
    if (!crc) return false;
    if (!send_record(stop, record, part, *crc)) return false;
  }
  // Small images are sent together where the next is due at once; every wait polls first.
  return true;
}

// Sends the lines of a part of the image in hand; returns their CRC32C, or nothing when it is to stop.
std::optional<std::uint32_t> DtpSource::send_part(const std::stop_token& stop, std::uint64_t frame,
                                                  std::uint32_t part) {
  const bool made_by_link = checksumming_ != nullptr;
  std::uint32_t crc = crcs_.empty() ? 0 : crc_of(frame, part);
  const bool known = made_by_link || !crcs_.empty();
  generator_.end_at(config_.dtp.placement.part_end(part));
  std::array<link::BufferDescriptor, kBatch / 2> half{};
  // Post half, poll, make and post the other half: while a half is on its way the next is computed.
  while (const std::size_t made = generator_.next(half)) {
    for (std::size_t i = 0; i < made && !known; ++i) crc = crc32c({half[i].source, half[i].bytes}, crc);
    if (!post_all(stop, half.data(), made)) return {};
    if (outstanding_ >= kBatch / 2) poll(0);
  }
  while (made_by_link) {
    if (const auto made = checksumming_->payload_crc32c()) {
      crc = *made;
      break;
    }
    if (stop.stop_requested()) return {};
    poll(kPollUs);
  }
  return crc;
}

// Sends the event of a part of the image in hand, whose own lines have `crc`. `record` is that of the part before.
bool DtpSource::send_record(const std::stop_token& stop, FrameRecord& record, std::uint32_t part, std::uint32_t crc) {
  const Dtp& dtp = config_.dtp;
  const Placement& place = dtp.placement;
  const bool last = part + 1 == place.parts();
  const std::uint64_t begin = std::uint64_t{record.lines} * place.line_bytes;  // of the part
  const std::uint64_t end = std::uint64_t{place.part_end(part)} * place.line_bytes;
  whole_crc_ = part == 0 ? crc : crc32c_combined(whole_crc_, crc, end - begin);
  record.flags = frames_.flags(record.frame_number) | (last ? 0U : kPartFlag);
  if (record.frame_number == dtp.slice.frame(limit_.load() - 1)) record.flags |= FrameRecord::last_of_run;
  record.timestamp_ns = start_tai_ns_ + static_cast<std::uint64_t>((paced_ ? due_ns_ : now_ns()) - start_ns_);
  record.lines = place.part_end(part);
  record.payload_bytes = end;
  record.payload_crc32c = last ? whole_crc_ : crc;
  record.user[0] = last && part > 0 ? crc : 0;
  std::array<std::byte, FrameRecord::kBytes> bytes{};
  encode(record, bytes);
  const link::Event event{bytes.data(),
                          last ? place.record_offset(record.index) : place.part_offset(record.index, part),
                          immediate_of(dtp.id, place.event_of(record.index, part))};
  while (!sender_.post_event(event)) {
    if (stop.stop_requested()) return false;
    poll(kPollUs);
  }
  if (!last) part_events_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void DtpSource::skip_image(std::uint64_t index) {
  sent_.set(index, Completeness::missing);
  images_skipped_.fetch_add(1, std::memory_order_relaxed);
  untold_ = index;
  poll(0);
}

// A destination that lost a whole ring knows of none of its images, and would wait for the first of them as long as the
// source waits for its slot. Images that have come are not touched by it.
void DtpSource::tell_sent(std::uint64_t next) noexcept {
  if (next > 0) untold_ = next - 1;
}

// The same of one that is dealt nothing because it says nothing. It is told ever more seldom.
void DtpSource::tell_quiet(std::uint64_t next, std::int64_t now) noexcept {
  const std::uint64_t granted = sender_.granted();
  const bool all_given_back = granted >= next + config_.dtp.placement.slots;
  if (all_given_back || granted != quiet_granted_ || next != quiet_next_ || quiet_ns_ == 0) {
    quiet_granted_ = granted;
    quiet_next_ = next;
    quiet_since_ns_ = now;
    quiet_ns_ = kStarvedNs;
  } else if (now - quiet_since_ns_ > quiet_ns_) {
    tell_sent(next);
    quiet_since_ns_ = now;
    quiet_ns_ *= 2;
  }
}

// Where the link has no room for the event the next poll repeats it.
void DtpSource::tell_skipped() {
  const Dtp& dtp = config_.dtp;
  const std::uint64_t index = *untold_;
  FrameRecord record{};
  record.dtp = dtp.id;
  record.flags = FrameRecord::skipped;
  record.frame_number = dealt_ == nullptr ? dtp.slice.frame(index) : latest_frame_;
  record.timestamp_ns = start_tai_ns_ + static_cast<std::uint64_t>(now_ns() - start_ns_);
  record.index = index;
  record.slot = dtp.placement.slots;
  record.run = dtp.run;
  record.user[0] = images_skipped_.load(std::memory_order_relaxed);
  record.user[1] = skip_events_ + 1;
  std::array<std::byte, FrameRecord::kBytes> bytes{};
  encode(record, bytes);
  if (!sender_.post_event(
          {bytes.data(), dtp.placement.skip_offset(), immediate_of(dtp.id, dtp.placement.event_of(index))}))
    return;
  ++skip_events_;
  untold_.reset();
}

void DtpSource::drain(const std::stop_token& stop) {
  RunningClock clock(now_ns());
  const std::int64_t until = clock.look(now_ns()) + kDrainNs;
  while (untold_ && !stop.stop_requested() && clock.look(now_ns()) < until) poll(kPollUs);
  while (sender_.pending() > 0 && !stop.stop_requested() && clock.look(now_ns()) < until) sender_.poll(kPollUs);
}

DtpSourceStats DtpSource::stats() const {
  return {.images_sent = images_sent_.load(std::memory_order_relaxed),
          .part_events = part_events_.load(std::memory_order_relaxed),
          .images_skipped = images_skipped_.load(std::memory_order_relaxed),
          .images_dead = images_dead_.load(std::memory_order_relaxed),
          .stalls = stalls_.load(std::memory_order_relaxed),
          .late_ns = late_ns_.load(std::memory_order_relaxed),
          .link = sender_.stats()};
}

}  // namespace rashpa::transfer
