// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/member_watch.hpp"

#include <algorithm>
#include <utility>

namespace rashpa::transfer {

namespace {
constexpr std::int64_t kUsualTimes = 4;  // a member whose stacks take long may be silent for this multiple of that time
}  // namespace

MemberWatch::MemberWatch(MemberConfig config, Times times)
    : config_(std::move(config)),
      times_(times),
      sent_ns_(config_.slots),
      dealt_ns_(config_.slots),
      void_(config_.slots) {}

void MemberWatch::excuse(std::int64_t gap_ns) noexcept {
  done_moved_ns_ += gap_ns;
  sent_moved_ns_ += gap_ns;
  open_excused_ns_ += gap_ns;
  for (std::uint64_t index = done_; index < dealt_; ++index) {
    dealt_ns_[index % config_.slots] += gap_ns;
    if (index < sent_) sent_ns_[index % config_.slots] += gap_ns;
  }
}

void MemberWatch::feed(bool fed, std::int64_t now) noexcept {
  if (state_ == MemberState::broken) return;
  state_ = fed ? MemberState::fed : MemberState::held;
  done_moved_ns_ = sent_moved_ns_ = now;
}

void MemberWatch::eject() noexcept {
  if (state_ != MemberState::broken) state_ = MemberState::ejected;
}

bool MemberWatch::owes() const noexcept {
  const bool whole = dealt_ / config_.stack * config_.stack > done_;
  return state_ == MemberState::fed && (whole || sent_ < dealt_);
}

// How long a member that owes something has been silent; 0: it owes nothing.
std::int64_t MemberWatch::silence(const MemberReport& report, std::int64_t now) const noexcept {
  std::int64_t longest = 0;
  if (const std::uint64_t end = (done_ / config_.stack + 1) * config_.stack; sent_ >= end) {
    const std::int64_t since = std::max(sent_ns_[(end - 1) % config_.slots], done_moved_ns_);
    longest = now - since - (allowed() - times_.response_ns);
  }
  if (dealt_ > sent_) {
    const std::int64_t since = std::max(dealt_ns_[sent_ % config_.slots], sent_moved_ns_);
    longest = std::max(longest, now - since);
  }
  if (report.open_ns != 0) {
    longest = std::max(longest, now - std::max(report.open_ns + open_excused_ns_, done_moved_ns_));
  }
  return std::max<std::int64_t>(longest, 0);
}

std::int64_t MemberWatch::allowed() const noexcept {
  return std::max(times_.response_ns, answered_ ? kUsualTimes * response_ns_ : times_.first_response_ns);
}

void MemberWatch::note_sent(std::uint64_t sent, std::int64_t now) noexcept {
  if (sent <= sent_) return;
  for (std::uint64_t index = sent_; index < sent; ++index) sent_ns_[index % config_.slots] = now;
  sent_ = sent;
  sent_moved_ns_ = now;
}

void MemberWatch::note_done(std::uint64_t done, std::int64_t now) noexcept {
  const std::int64_t sent = sent_ns_[(done - 1) % config_.slots];
  const std::int64_t response = std::max<std::int64_t>(now - (sent != 0 ? sent : now), 1);
  response_ns_ = answered_ ? (7 * response_ns_ + response) / 8 : response;
  answered_ = true;
  done_moved_ns_ = now;
  done_ = done;
}

// A receiver gives images up at its deadline. Those that come later are dropped, and credits prove nothing of them. A
// word that grants more than follows the images that were dealt proves nothing at all.
void MemberWatch::note_void(const MemberReport& report, Seen& seen) noexcept {
  if (report.most_granted <= config_.slots || report.most_granted - config_.slots > dealt_) return;
  seen.void_from = std::max(report.begun, void_to_);
  seen.void_to = std::max(report.most_granted - config_.slots, seen.void_from);
  for (std::uint64_t index = seen.void_from; index < seen.void_to; ++index) void_[index % config_.slots] = 1;
  void_to_ = seen.void_to;
}

MemberWatch::Seen MemberWatch::look(const MemberReport& report, std::int64_t now) noexcept {
  Seen seen{.done_from = done_, .done_to = done_};
  if (std::exchange(open_ns_, report.open_ns) != report.open_ns) open_excused_ns_ = 0;
  const std::uint64_t sent = std::min(report.sent, dealt_);
  note_sent(sent, now);
  if (report.in_error) {
    if (state_ == MemberState::ejected || state_ == MemberState::broken) return seen;
    state_ = MemberState::broken;
    seen.news = Seen::News::broken;
    return seen;
  }
  // Its images are dealt again from where it was given up, and no books have an image that it proves later.
  if (state_ == MemberState::ejected) return seen;
  // A receiver cannot grant more than it was given.
  granted_ = std::max(granted_, std::min(report.granted, sent + config_.slots));
  const std::uint64_t done = granted_ > config_.slots ? std::min(granted_ - config_.slots, sent) : 0;
  if (done > done_) note_done(done, now);
  seen.done_to = done_;
  note_void(report, seen);
  const std::int64_t silent = silence(report, now);
  if (state_ == MemberState::fed && silent > times_.response_ns) {
    state_ = MemberState::late;
    ++lates_;
    silent_ns_ = silent;
    done_when_late_ = done_;
    had_when_late_ = report.had;
    seen.news = Seen::News::late;
  } else if (state_ == MemberState::late && (done_ > done_when_late_ || report.had != had_when_late_ || silent == 0)) {
    state_ = MemberState::fed;
    done_moved_ns_ = sent_moved_ns_ = now;
    seen.news = Seen::News::heard;
  }
  return seen;
}

}  // namespace rashpa::transfer
