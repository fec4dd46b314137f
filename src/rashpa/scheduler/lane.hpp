// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rashpa/core/books/completeness_table.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/numbers/histogram.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/scheduler/lane/deadlines.hpp"
#include "rashpa/scheduler/lane/lane_config.hpp"
#include "rashpa/scheduler/lane/loss_report.hpp"
#include "rashpa/scheduler/lane/lost_pixels.hpp"
#include "rashpa/scheduler/lane/stack_ring.hpp"
#include "rashpa/unit/beginning.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::scheduler {

/// Consolidates the arrivals of one buffer's DTPs into stacks and submits each stack to the unit, in order, when all
/// its images have arrived or were given up (docs/explanations/threads.md). The scheduler's thread makes all calls
/// unless stated otherwise.
/// Images are due up to the latest that any DTP has sent. Each has a deadline of its own, counted from when it became
/// due; after it the image is given up. A stack waits until all its images are due, however slow or paused the sources
/// are, until finish() ends the run. One exception: sources that wait for slots may have sent the rest of a stack, all
/// of which was lost. So a lane with a known end gives up a begun stack when nothing came for `quiet_ns`. For the same
/// time no deadline passes when all sources with free slots are silent, because their process is stopped.
/// Where sources send events for parts of images, a unit that can begins with the pixels of the stack in hand that are
/// there.
/// It connects a StackRing, Deadlines, a LossReport and LostPixels, which do not know one another.
class Lane final : public SlotGuard {
 public:
  /// Takes all memory. `unit` and `link` outlive this object. Throws ConfigError when slots and stack do not fit.
  Lane(LaneConfig config, unit::Unit& unit, link::Receiver& link);

  /// Returns false while the unit or a sink still owns the image's stack; keep the arrival and try again.
  [[nodiscard]] bool can_take(const link::Arrival& arrival) const noexcept;
  /// Takes an arrival. `dtp` is the position in this lane's list.
  void take(std::size_t dtp, const link::Arrival& arrival, std::int64_t now) noexcept;
  /// Submits the next stack if it is ready, or closes it if its deadline has passed; returns true when a stack was
  /// submitted.
  bool advance(std::int64_t now) noexcept;
  /// Stops the deadlines of due images while `held`, because sources pause one after another and the first ones have
  /// nothing left to send. finish() ends it at the latest.
  void hold_deadlines(bool held, std::int64_t now) noexcept;
  /// Ends the run: nothing more will be sent. When nothing has come for the deadline, counted from now or from the last
  /// arrival, all open images are closed at once. `end`: images < `end` are due, and later ones only if they have
  /// arrived or were decided; never more than were known to be due. Empty: all known images are due, or, if their
  /// number is unknown, those that have arrived and all before them.
  void finish(std::int64_t now, std::optional<std::uint64_t> end = std::nullopt) noexcept;
  /// Ends the lane after the link has stopped: open images become missing. Submits the present stack if any part of it
  /// has arrived.
  void abandon(std::int64_t now) noexcept;
  [[nodiscard]] bool done() const noexcept { return next_stack_ * config_.stack >= limit_; }

  /// Marks images as errored when their slot was overwritten before the unit finished, or received lines of an image
  /// that had been given up. `changed` has a value for each image, from a comparison of its bytes; images with another
  /// value than 0 are marked too; empty: nothing was compared. The thread that has the stack after the unit calls it.
  /// Sinks that read the slot itself check again after their reading (Stack::intact).
  void refuse_overwritten(Stack& stack, std::span<const std::uint8_t> changed = {}) noexcept;
  /// Counts images that were refused here or by a sink. Any thread.
  void count_overwritten(std::uint64_t images) noexcept { overwritten_.fetch_add(images, std::memory_order_relaxed); }
  [[nodiscard]] bool overwritten(const StackImage& image) const noexcept override;
  /// Returns the number of those images. Any thread.
  [[nodiscard]] std::uint64_t overwritten() const noexcept { return overwritten_.load(std::memory_order_relaxed); }
  /// Releases a stack that no sink needs any more; its slots are granted to the sources again. Any thread, one at a
  /// time and in the order of stacks.
  void release(const Stack& stack) noexcept;
  /// Returns the images that are due so far, or in total once the end is known. Any thread.
  [[nodiscard]] std::uint64_t images() const noexcept { return images_.load(std::memory_order_acquire); }
  [[nodiscard]] bool end_known() const noexcept { return end_known_.load(std::memory_order_acquire); }
  /// Returns the number of arrivals behind the end, which belong to no image. Any thread.
  [[nodiscard]] std::uint64_t behind_end() const noexcept { return behind_end_.load(std::memory_order_relaxed); }
  /// Returns the number of stacks submitted to the unit so far; closed() returns true when there will be no more. Any
  /// thread.
  [[nodiscard]] std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  void set_closed() noexcept { closed_.store(true, std::memory_order_release); }

  [[nodiscard]] const LaneConfig& config() const noexcept { return config_; }
  [[nodiscard]] std::uint32_t lost_per_image() const noexcept {
    return ring_.lost_per_image();
  }  ///< most runs of lost lines of an image
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
  void begin_early() noexcept;
  [[nodiscard]] std::uint64_t pixels_there(std::uint64_t index) const noexcept;

  LaneConfig config_;
  unit::Unit& unit_;
  link::Receiver& link_;
  const link::Watching* watching_;    // the link, where it sees writes into slots
  const link::Parted* parted_;        // the link, where sources send events for parts …
  unit::Beginning* beginning_;        // … and the unit, which can begin with them; else null
  std::vector<std::uint64_t> begun_;  // pixels of each image of the stack in hand with which the unit has begun
  bool sources_write_;                // lines may come after they were given up
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
