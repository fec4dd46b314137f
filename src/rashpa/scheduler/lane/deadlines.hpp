// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/scheduler/lane/late_clock.hpp"

namespace rashpa::scheduler {

/// Decides which images of a lane are given up, and when. It knows the progress of each DTP and when each image became
/// due, but no pixels, links or units. One thread; call look() before all other functions at a given time. Only the
/// constructor takes memory.
/// Images are due up to the latest that any DTP has sent. Each has a deadline of its own, counted from when it became
/// due. A DTP that was silent for a whole stack is not awaited until an image of it arrives again.
class Deadlines {
 public:
  /// Creates the state. `slots` is the most open images. `quiet_ns` 0: sources neither wait for slots nor stop.
  Deadlines(std::size_t dtps, std::uint32_t slots, std::int64_t deadline_ns, std::int64_t quiet_ns)
      : deadline_ns_(deadline_ns), quiet_ns_(quiet_ns), clock_(deadline_ns, quiet_ns), dtps_(dtps), due_(slots) {}

  /// Advances to time `now`. The sources have slots for images before `granted`; those that have filled all of them
  /// have nothing to send, so their silence does not count.
  void look(std::int64_t now, std::uint64_t granted) noexcept {
    time_ = clock_.look(now, finishing_ || due() >= granted);
  }
  /// Records that an image of a DTP is decided, in order. `heard`: by an arrival; false: it was given up.
  void came(std::size_t dtp, std::uint64_t index, bool heard) noexcept {
    OfDtp& of = dtps_[dtp];
    of.next = index + 1;
    if (Due& due = due_[index % due_.size()]; due.index != index) due = {index, time_};
    if (!heard) return;
    of.silent = false;
    of.heard = true;
    clock_.heard();
  }
  /// Stops all deadlines while `held`, as Lane::hold_deadlines() does.
  void hold(bool held) noexcept { clock_.hold(held && !finishing_); }
  /// Ends the run: one deadline of silence from now on ends all images. It calls look() itself.
  void finish(std::int64_t now) noexcept;
  /// Records that the open end is known; images up to it are due from now on.
  void tell_end() noexcept;

  /// Returns the index before which DTP `dtp` has decided all images.
  [[nodiscard]] std::uint64_t next(std::size_t dtp) const noexcept { return dtps_[dtp].next; }
  /// Returns the index before which images are due, because a DTP has sent them.
  [[nodiscard]] std::uint64_t due() const noexcept {
    std::uint64_t due = 0;
    for (const OfDtp& dtp : dtps_) due = std::max(due, dtp.next);
    return due;
  }
  /// Returns true when all DTPs have decided the images before `end`.
  [[nodiscard]] bool all_there(std::uint64_t end) const noexcept {
    return std::all_of(dtps_.begin(), dtps_.end(), [end](const OfDtp& dtp) { return dtp.next >= end; });
  }
  /// Returns true when any DTP has decided an image from `first` on.
  [[nodiscard]] bool begun(std::uint64_t first) const noexcept { return due() > first; }

  /// The part of the run that is known.
  struct Known {
    std::uint64_t limit = 0;  ///< images from this one on are not due
    bool end = false;         ///< true: `limit` is the end of the run
  };
  /// Returns an index in the stack `first` … `end` − 1, which is not all_there(). Images before it are given up now, by
  /// all DTPs that are behind. Each index is returned once.
  [[nodiscard]] std::optional<std::uint64_t> given_up(std::uint64_t first, std::uint64_t end, Known run) noexcept;
  /// Records that the stack before `end` was submitted.
  void handed_on(std::uint64_t end) noexcept;

 private:
  struct OfDtp {
    std::uint64_t next = 0;  // images decided
    bool silent = false;     // a whole stack passed without one event
    bool heard = false;      // an event came in the stack in hand
  };
  struct Due {
    std::uint64_t index = UINT64_MAX;
    std::int64_t since = 0;  // when the first DTP had sent it
  };
  [[nodiscard]] bool only_silent_ones_lack(std::uint64_t end) const noexcept;
  [[nodiscard]] bool quiet(std::uint64_t first) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> overdue(std::uint64_t end, bool end_known) const noexcept;

  std::int64_t deadline_ns_;
  std::int64_t quiet_ns_;
  LateClock clock_;
  std::vector<OfDtp> dtps_;
  std::vector<Due> due_;  // by slot
  std::int64_t time_ = 0;
  std::int64_t told_ns_ = 0;      // when the end was told
  std::uint64_t given_up_ = 0;    // images before this one
  bool gave_up_in_hand_ = false;  // of the stack in hand
  bool gave_up_all_ = false;
  bool finishing_ = false;
};

}  // namespace rashpa::scheduler
