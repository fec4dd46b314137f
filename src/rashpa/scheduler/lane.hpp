// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/books/completeness_table.hpp"
#include "rashpa/core/end.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/placement.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/numbers/histogram.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/memory/device_images.hpp"
#include "rashpa/scheduler/late_clock.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::scheduler {

/// One DTP of a lane. `position` is its place in the receiver's list of DTPs (Arrival::dtp).
struct LaneDtp {
  std::uint32_t position = 0;
  std::uint32_t id = 0;
  std::uint32_t module = 0;
  Placement placement{};
};

/// One RASHPA buffer and what is expected of it. All DTPs of a lane share its time slice.
struct LaneConfig {
  std::string name;
  PixelType pixel = PixelType::u16;
  std::byte* memory = nullptr;  ///< start of the registered region; unused where the images lie on a device
  memory::DeviceImages* device_images = nullptr;  ///< where they do; outlives the lane. StackImage::raw is null then
  std::uint64_t pixels_offset = 0;
  std::uint64_t slot_bytes = 0;
  std::uint32_t slots = 0;  ///< a multiple of `stack`
  std::uint32_t stack = 0;
  std::uint64_t images = 0;  ///< so many are due, or at most so many
  End end = End::known;
  Slice slice{};  ///< kToldByRecords: the records say which frames come
  std::int64_t deadline_ns = 0;
  std::int64_t quiet_ns = 0;  ///< see Lane; 0: for ever
  std::vector<LaneDtp> dtps;
  std::uint32_t run = 0;  ///< for the log
};

/// Counts of one DTP, destination side; losses are counted in images.
struct LaneDtpStats {
  std::uint64_t complete = 0, partial = 0, missing = 0, lines_missing = 0;
  std::array<std::uint64_t, 6> losses{};  ///< by link::Loss
};

/// The lowest image that is not complete, and why; `known` is set last.
struct FirstIncomplete {
  std::atomic<bool> known{false};
  std::uint64_t index = 0, frame = 0;
  std::uint32_t dtp = 0, module = 0;
  link::Loss loss = link::Loss::none;
  bool ended = false;  ///< nobody gave it up: the run was ended while it was due
};

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
class Lane final : public SlotGuard {
 public:
  /// `unit` and `link` outlive this object. Takes all memory. Throws ConfigError when slots and stack do not fit.
  Lane(LaneConfig config, unit::Unit& unit, link::Receiver& link);

  /// False while the image's stack is still owned by unit or sink: keep the arrival and come again.
  [[nodiscard]] bool can_take(const link::Arrival& arrival) const noexcept;
  /// `dtp`: position in this lane's list.
  void take(std::size_t dtp, const link::Arrival& arrival, std::int64_t now) noexcept;
  /// Submits the next stack if it is ready, closes it if its deadline has passed; true when something was submitted.
  bool advance(std::int64_t now) noexcept;
  /// Whether time stands still for images that are due: their sources are told to pause, one after the other, and
  /// those that were told first have none to send. Until finish() at most.
  void hold_deadlines(bool held, std::int64_t now) noexcept;
  /// Nothing more will be sent: when nothing has come for the deadline, from now or from the last arrival on, all that
  /// is open is closed at once. `end`: images < `end` are due, and no others but those that have come all the same, or
  /// were decided already; never more than were known to be due. Empty: all that were known, or where that is not known
  /// those that have come, and those before them.
  void finish(std::int64_t now, std::optional<std::uint64_t> end = std::nullopt) noexcept;
  /// The link has stopped: what is open becomes missing. Submits the stack in hand if any of it has arrived.
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
  [[nodiscard]] std::uint32_t lost_per_image() const noexcept { return lost_per_image_; }  ///< most runs of lost lines
  [[nodiscard]] const CompletenessTable& completeness() const noexcept { return completeness_; }  ///< any thread
  [[nodiscard]] LaneDtpStats dtp_stats(std::size_t dtp) const noexcept;                           ///< any thread
  [[nodiscard]] const Histogram& ready_latency() const noexcept { return ready_; }                ///< any thread
  [[nodiscard]] const FirstIncomplete& first_incomplete() const noexcept { return first_; }       ///< any thread
  [[nodiscard]] std::int64_t first_packet_ns() const noexcept {
    return first_packet_ns_.load(std::memory_order_relaxed);
  }

 private:
  struct DtpState {
    std::uint64_t next = 0;  // images decided
    bool silent = false;     // a whole stack passed without one event: not waited for until it is heard again
    bool heard = false;      // an event came in the stack in hand
    std::atomic<std::uint64_t> complete{0}, partial{0}, missing{0}, lines_missing{0};
    std::array<std::atomic<std::uint64_t>, 6> losses{};
    std::array<log::Limiter, 6> said{};  // by link::Loss
  };
  struct ImageState {  // of an image in the ring, beside its StackImage
    std::uint32_t complete = 0, missing = 0;
    std::uint32_t lost_dtp = 0;          // the first DTP that lost something of it …
    link::Loss loss = link::Loss::none;  // … and how
    std::int64_t due_ns = 0;             // when the first DTP had sent it
  };

  Stack& stack_of(std::uint64_t number) noexcept { return stacks_[number % stacks_.size()]; }
  [[nodiscard]] std::uint64_t end_of(std::uint64_t stack) const noexcept;
  void count(DtpState& state, const link::Arrival& arrival) noexcept;
  void note_first(std::uint64_t index, std::size_t dtp, link::Loss loss) noexcept;
  void add_lost(StackImage& image, std::size_t dtp, const link::Arrival& arrival) noexcept;
  [[nodiscard]] link::Arrival agreed(const StackImage& image, const link::Arrival& arrival) const noexcept;
  void say_lost(const StackImage& image, std::size_t dtp, const link::Arrival& arrival) noexcept;
  void fill(const StackImage& image) noexcept;
  [[nodiscard]] const Placement& placement_of(const LostRun& run) const noexcept;
  [[nodiscard]] memory::LostPart part_of(const StackImage& image, const LostRun& run) const noexcept;
  [[nodiscard]] bool filled(const StackImage& image) const noexcept;
  void close_behind(std::uint64_t end) noexcept;
  void close_to(std::uint64_t end) noexcept;
  [[nodiscard]] std::uint64_t due() const noexcept;
  [[nodiscard]] bool quiet() const noexcept;
  std::int64_t look(std::int64_t now) noexcept;
  void close_overdue(std::uint64_t end, std::int64_t time) noexcept;
  void set_end(std::uint64_t end) noexcept;
  void submit(std::int64_t now) noexcept;
  void open(std::uint64_t number) noexcept;

  LaneConfig config_;
  unit::Unit& unit_;
  link::Receiver& link_;
  std::vector<Stack> stacks_;
  std::vector<ImageState> states_;
  std::vector<LostRun> lost_;
  std::vector<PayloadSum> sums_;  // [image of the ring][dtp]
  std::uint32_t lost_per_image_ = 0;
  std::vector<DtpState> dtps_;
  const link::Watching* watching_;  // the link, where it sees writes into slots
  bool sources_write_;              // lines may come after they were given up
  LateClock clock_;                 // deadlines are counted in its time
  CompletenessTable completeness_;
  Histogram ready_;
  FirstIncomplete first_;
  std::uint64_t next_stack_ = 0;  // the stack in hand
  std::uint64_t opened_ = 0;      // stacks < opened_ have been cleared for use
  std::uint64_t limit_;           // no image from here on is due, as far as is known
  std::uint64_t closed_to_ = 0;   // close() was sent for images before this one
  std::int64_t told_ns_ = 0;      // when a lane that did not know its end was told it
  bool closing_ = false;          // close() was sent for the stack in hand
  bool finishing_ = false;
  bool abandoned_ = false;
  bool closed_all_ = false;                 // close() was sent for all images
  std::atomic<std::uint64_t> released_{0};  // stacks
  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<std::uint64_t> overwritten_{0};
  std::atomic<std::uint64_t> images_;
  std::atomic<bool> end_known_;
  std::atomic<std::uint64_t> behind_end_{0};
  std::atomic<bool> closed_{false};
  std::atomic<std::int64_t> first_packet_ns_{0};
};

}  // namespace rashpa::scheduler
