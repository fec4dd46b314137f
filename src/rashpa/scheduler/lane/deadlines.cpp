// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/deadlines.hpp"

#include <algorithm>

namespace rashpa::scheduler {

void Deadlines::finish(std::int64_t now) noexcept {
  finishing_ = true;
  look(now, 0);
  clock_.hold(false);
  clock_.heard();
}

void Deadlines::tell_end() noexcept {
  told_ns_ = time_;
  gave_up_in_hand_ = false;
}

bool Deadlines::only_silent_ones_lack(std::uint64_t end) const noexcept {
  bool all_but_silent = true;
  bool any_heard = false;
  for (const OfDtp& dtp : dtps_) {
    all_but_silent = all_but_silent && (dtp.next >= end || dtp.silent);
    any_heard = any_heard || !dtp.silent;
  }
  return all_but_silent && any_heard;
}

// Whether the sources may wait for this stack's slots, although nobody knows whether they have sent it.
bool Deadlines::quiet(std::uint64_t first) const noexcept {
  return quiet_ns_ != 0 && begun(first) && clock_.silence() > quiet_ns_;
}

// Of the images that are due, those that have been so for longer than the deadline. Of what is behind the latest that
// has come nobody knows whether it is. An end that is not known is not waited for by DTPs that were silent before.
std::optional<std::uint64_t> Deadlines::overdue(std::uint64_t end, bool end_known) const noexcept {
  const std::uint64_t due = std::min(end, this->due());
  std::uint64_t first = end;
  bool heard_all = !end_known;  // all that are still waited for
  for (const OfDtp& dtp : dtps_) {
    first = std::min(first, dtp.next);
    heard_all = heard_all && (dtp.next >= due || dtp.silent);
  }
  std::uint64_t overdue = first;
  while (overdue < due) {
    const std::int64_t since = std::max(due_[overdue % due_.size()].since, told_ns_);
    if (!heard_all && time_ - since <= deadline_ns_) break;
    ++overdue;
  }
  if (overdue == first) return std::nullopt;
  return overdue;
}

std::optional<std::uint64_t> Deadlines::given_up(std::uint64_t first, std::uint64_t end, Known run) noexcept {
  if (gave_up_all_) return std::nullopt;
  if (finishing_ && clock_.silence() > deadline_ns_) {
    gave_up_in_hand_ = gave_up_all_ = true;
    return run.limit;
  }
  std::optional<std::uint64_t> to = end;
  if (!run.end || !(only_silent_ones_lack(end) || quiet(first))) to = overdue(end, run.end);
  if (!to || *to <= given_up_) return std::nullopt;
  given_up_ = *to;
  gave_up_in_hand_ = true;
  return to;
}

void Deadlines::handed_on(std::uint64_t end) noexcept {
  for (OfDtp& dtp : dtps_) {
    if (gave_up_in_hand_ && !dtp.heard) dtp.silent = true;
    dtp.heard = dtp.next > end;
  }
  gave_up_in_hand_ = false;
}

}  // namespace rashpa::scheduler
