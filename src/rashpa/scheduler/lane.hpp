// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/core/books/completeness_table.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/numbers/histogram.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/scheduler/lane/deadlines.hpp"
#include "rashpa/scheduler/lane/lane_config.hpp"
#include "rashpa/scheduler/lane/loss_report.hpp"
#include "rashpa/scheduler/lane/lost_pixels.hpp"
#include "rashpa/scheduler/lane/stack_ring.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::scheduler {

/// Consolidates the arrivals of one buffer's DTPs into stacks and hands each to the unit, in order
/// (docs/explanations/threads.md): when all of them are there, or given up. All calls from the scheduler's thread
/// unless they say otherwise.
///
/// Images are due as far as a lane knows: those up to the latest that any of its DTPs has sent. Each has a deadline of
/// its own, from when it became due; then it is given up. A stack waits until all of its images are due, however slow
/// the detector is, or for whatever its sources are paused; until finish() says that nothing more is sent. But sources
/// that wait for slots may have sent a stack's rest, and all of it was lost: a lane that knows its end gives a stack up
/// that has begun when nothing has come for `quiet_ns`. For as long no deadline passes when all sources have fallen
/// silent that had slots to send into: their process stands still.
///
/// Puts together what knows nothing of one another: a StackRing, Deadlines, a LossReport and LostPixels.
class Lane final : public SlotGuard {
 public:
  /// `unit` and `link` outlive this object. Takes all memory. Throws ConfigError when slots and stack do not fit.
  Lane(LaneConfig config, unit::Unit& unit, link::Receiver& link);

  /// Returns false while the image's stack is still owned by unit or sink: keep the arrival and come again.
  [[nodiscard]] bool can_take(const link::Arrival& arrival) const noexcept;
  /// `dtp`: position in this lane's list.
  void take(std::size_t dtp, const link::Arrival& arrival, std::int64_t now) noexcept;
  /// Submits the next stack if it is ready, closes it if its deadline has passed; true when something was submitted.
  bool advance(std::int64_t now) noexcept;
  /// Stops time for images that are due while `held`: their sources get the order to pause, one after the other, and
  /// the first ones have nothing left to send. It ends with finish() at the latest.
  void hold_deadlines(bool held, std::int64_t now) noexcept;
  /// Tells that nothing more will be sent: when nothing has come for the deadline, from now or from the last arrival
  /// on, all that is open is closed at once. `end`: images < `end` are due, and no others but those that have come all
  /// the same, or were decided already; never more than were known to be due. Empty: all that were known, or where that
  /// is not known those that have come, and those before them.
  void finish(std::int64_t now, std::optional<std::uint64_t> end = std::nullopt) noexcept;
  /// The link has stopped: open images become missing. Submits the stack in hand if any of it has arrived.
  void abandon(std::int64_t now) noexcept;
  [[nodiscard]] bool done() const noexcept { return next_stack_ * config_.stack >= limit_; }

  /// The thread that has the stack after the unit: images that were decided on although their slot was overwritten
  /// meanwhile, or lines came into it that had been given up, become errored; and those that have `changed`, by image,
  /// which has been looked for (empty: it has not). Sinks that read the slot itself ask again when they have read it
  /// (Stack::intact).
  void refuse_overwritten(Stack& stack, std::span<const std::uint8_t> changed = {}) noexcept;
  /// Any thread: counts images that were refused, here or by a sink.
  void count_overwritten(std::uint64_t images) noexcept { overwritten_.fetch_add(images, std::memory_order_relaxed); }
  [[nodiscard]] bool overwritten(const StackImage& image) const noexcept override;
  /// Any thread: those images so far.
  [[nodiscard]] std::uint64_t overwritten() const noexcept { return overwritten_.load(std::memory_order_relaxed); }
  /// Any thread, one at a time and in the order of stacks: no sink needs the stack any more; its slots are granted to
  /// the sources again.
  void release(const Stack& stack) noexcept;
  /// Any thread: images that are due; so far, while the end is not known.
  [[nodiscard]] std::uint64_t images() const noexcept { return images_.load(std::memory_order_acquire); }
  [[nodiscard]] bool end_known() const noexcept { return end_known_.load(std::memory_order_acquire); }
  /// Any thread: arrivals behind the end, which belong to nobody.
  [[nodiscard]] std::uint64_t behind_end() const noexcept { return behind_end_.load(std::memory_order_relaxed); }
  /// Any thread: stacks handed to the unit so far, and whether more will come.
  [[nodiscard]] std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  void set_closed() noexcept { closed_.store(true, std::memory_order_release); }

  [[nodiscard]] const LaneConfig& config() const noexcept { return config_; }
  [[nodiscard]] std::uint32_t lost_per_image() const noexcept {
    return ring_.lost_per_image();
  }  ///< most runs of lost lines
  [[nodiscard]] const CompletenessTable& completeness() const noexcept { return completeness_; }       ///< any thread
  [[nodiscard]] LaneDtpStats dtp_stats(std::size_t dtp) const noexcept { return losses_.stats(dtp); }  ///< any thread
  [[nodiscard]] const Histogram& ready_latency() const noexcept { return ready_; }                     ///< any thread
  [[nodiscard]] const FirstIncomplete& first_incomplete() const noexcept { return losses_.first(); }   ///< any thread
  [[nodiscard]] std::int64_t first_packet_ns() const noexcept {
    return first_packet_ns_.load(std::memory_order_relaxed);
  }

 private:
  void look(std::int64_t now) noexcept { deadlines_.look(now, ring_.granted()); }
  void count(std::size_t dtp, const link::Arrival& arrival) noexcept;
  void give_up(std::uint64_t end) noexcept;
  void give_up_stack(std::uint64_t end, std::int64_t now) noexcept;
  void give_up_rest() noexcept;
  void set_end(std::uint64_t end) noexcept;
  void submit(std::int64_t now) noexcept;

  LaneConfig config_;
  unit::Unit& unit_;
  link::Receiver& link_;
  const link::Watching* watching_;  // the link, where it sees writes into slots
  bool sources_write_;              // lines may come after they were given up
  StackRing ring_;
  Deadlines deadlines_;
  LossReport losses_;
  LostPixels lost_pixels_;
  CompletenessTable completeness_;
  Histogram ready_;
  std::uint64_t next_stack_ = 0;  // the stack in hand
  std::uint64_t limit_;           // no image from here on is due, as far as is known
  bool abandoned_ = false;
  std::atomic<std::uint64_t> submitted_{0};  // release by the lane's thread, acquire by a status; others relaxed
  std::atomic<std::uint64_t> overwritten_{0};
  std::atomic<std::uint64_t> images_;
  std::atomic<bool> end_known_;
  std::atomic<std::uint64_t> behind_end_{0};
  std::atomic<bool> closed_{false};
  std::atomic<std::int64_t> first_packet_ns_{0};
};

}  // namespace rashpa::scheduler
