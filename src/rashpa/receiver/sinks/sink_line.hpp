// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/log.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/memory/ring.hpp"
#include "rashpa/receiver/config.hpp"
#include "rashpa/receiver/sinks/image_fates.hpp"
#include "rashpa/receiver/sinks/stack_copies.hpp"
#include "rashpa/receiver/sinks/window_copies.hpp"
#include "rashpa/sink/sink.hpp"

namespace rashpa::receiver {

/// An image that was lost, and why.
struct FirstErrored {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  ErrorReason reason = ErrorReason::none;
  std::string text;  ///< the first error that was reported
};

/// The books of one sink: accepted = written + dropped + errored + waiting, and nothing waits at the end.
struct SinkStatus {
  std::string name;
  OnFull on_full = OnFull::wait;
  std::uint64_t accepted = 0;  ///< images that the sink was to keep
  std::uint64_t written = 0;
  std::uint64_t dropped = 0;  ///< never handed to it, because its queue was full; or it had nobody for them
  std::uint64_t errored = 0;
  std::uint64_t waiting = 0;  ///< in its queue, or with it
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_stored = 0;
  std::string error;                              ///< the first one
  std::optional<FirstErrored> first{};            ///< the lowest image that it does not have
  std::vector<sink::ConsumerStatus> consumers{};  ///< the consumers it sends to
  std::uint64_t restarts = 0;                     ///< times that the process that sends has died, and another one came
  bool left_behind = false;                       ///< it did not come back, and was not waited for any longer
};

/// Listens to a line for the fate of stacks. Calls come from the threads of all lines.
class LineOwner {
 public:
  /// The line needs the stack no more. Only of lines that wait.
  virtual void through(const Stack& stack) noexcept = 0;
  /// The sink `name` has lost an accepted image.
  virtual void lost(std::string_view name, std::uint64_t index, std::uint64_t frame, ErrorReason reason,
                    const std::string& text) noexcept = 0;
  /// The sink had nobody for an accepted image: that is a loss where no other sink has it.
  virtual void passed_over(std::uint64_t index, std::uint64_t frame, const std::string& text) noexcept = 0;
  /// The facts of an image, for a sink that never had it.
  [[nodiscard]] virtual sink::SkippedImage skipped(std::uint64_t index) const noexcept = 0;
  /// The books of the buffer without what sinks have lost; called when all stacks have been offered.
  [[nodiscard]] virtual Books decided() const noexcept = 0;
  /// Images that are due; so far, while the end is not known. Those of a stack that was offered are among them.
  [[nodiscard]] virtual std::uint64_t images() const noexcept = 0;

 protected:
  ~LineOwner() = default;
};

/// One sink with its queue, its thread and its books. A line that waits holds the slots of a stack until its sink is
/// through; one that may drop works on copies, and can be left behind at the end. The thread keeps the line alive.
class SinkLine : public std::enable_shared_from_this<SinkLine> {
 public:
  /// Makes the sink; throws what that throws. `stacks`: of the ring; `lost_runs`: most of an image. `owner` outlives
  /// this object, or join() returned.
  SinkLine(SinkConfig config, const Output& output, std::uint32_t stacks, std::uint32_t lost_runs, LineOwner& owner);
  ~SinkLine();
  SinkLine(const SinkLine&) = delete;
  SinkLine& operator=(const SinkLine&) = delete;

  /// The sink takes its place. Throws what it throws.
  void begin();
  /// Throws where the system has no thread left; the line can be closed all the same.
  void start(int processor);

  // From the distributor's thread.

  /// Hands a stack over; false when the line may drop and has no room: the sink does not get it. A line that waits
  /// always takes it, and says through() later, or before this returns.
  bool offer(const Stack& stack) noexcept;
  /// No more stacks come; there were `stacks` of them, offered or not. The line stores queued stacks, then `open`, the
  /// windows of accumulations that the end of the run has ended; then it completes the output.
  void close(std::uint64_t stacks, const Accumulated& open) noexcept;
  /// Returns true when everything is stored and completed, or the sink was left behind.
  [[nodiscard]] bool done() const noexcept {
    const Life now = life();
    return now == Life::done || now == Life::left;
  }
  /// Leaves a sink behind that does not come back, and does what a prompt sink still has to do. Called after close(),
  /// now and then until done().
  void watch(std::int64_t now) noexcept;
  void join() noexcept;

  // From any thread.

  [[nodiscard]] const std::string& name() const noexcept { return config_.name; }
  [[nodiscard]] bool may_drop() const noexcept { return copies_ != nullptr; }
  [[nodiscard]] SinkStatus status() const;
  [[nodiscard]] std::string error() const;
  /// Images that are neither written nor known to be lost.
  [[nodiscard]] std::uint64_t unsettled() const noexcept;
  [[nodiscard]] const sink::Sink& sink() const noexcept { return *sink_; }

 private:
  /// One state after the other. From `closed` on a line that may drop can be left behind; later work of its thread no
  /// longer counts.
  enum class Life : std::uint8_t {
    made,
    begun,       ///< the sink has taken its place
    running,     ///< stacks may come
    closed,      ///< no more stacks come
    completing,  ///< the last one is stored: the output is completed
    done,
    leaving,  ///< its images are being settled without it
    left,
  };
  [[nodiscard]] Life life() const noexcept { return life_.load(std::memory_order_acquire); }
  [[nodiscard]] bool left_behind() const noexcept { return life() >= Life::leaving; }
  /// Returns false when it is not in `from`, as it was left behind.
  bool turn(Life from, Life to) noexcept { return life_.compare_exchange_strong(from, to, std::memory_order_acq_rel); }
  [[nodiscard]] std::int64_t patience_ns(Life now) const noexcept {
    return config_.patience_ns * (now == Life::completing ? 10 : 1);
  }
  void run(int processor);
  void keep_windows(const Stack& stack) noexcept;
  void hand(const Stack& stack) noexcept;
  void hand_windows(const Stack& carrier) noexcept;
  void take_back() noexcept;
  void finish_stack(const Stack& stack) noexcept;
  void skip_to(std::uint64_t stack) noexcept;
  void pass_over(const StackImage& image) noexcept;
  void complete() noexcept;
  template <typename Call>
  bool guarded(const char* doing, Call call) noexcept;
  void lose(std::uint64_t index, std::uint64_t frame, ErrorReason reason, const std::string& text) noexcept;
  void count_lost(std::uint64_t index, std::uint64_t frame, ErrorReason reason, const std::string& text) noexcept;
  [[nodiscard]] sink::SinkStats stats() const noexcept;
  [[nodiscard]] std::uint64_t errored() const noexcept;
  [[nodiscard]] Books books(const Books& decided) const noexcept;
  void note_error(log::Limiter& limiter, const std::string& text) noexcept;
  void keep_error(const char* text) noexcept;
  void note_first(std::uint64_t index, std::uint64_t frame, ErrorReason reason, const std::string& text) noexcept;
  void leave_behind(Life seen) noexcept;
  [[nodiscard]] std::span<ErrorReason> results_of(const Stack& stack) noexcept {
    return {results_.data() + std::size_t{stack.slot} * stack_images_, stack.count};
  }
  void alive() noexcept { steps_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] log::Where where(std::int64_t frame = -1) const noexcept;

  SinkConfig config_;
  std::string buffer_;
  std::uint32_t run_;
  log::Limiter dropping_, losing_, failing_;
  std::uint32_t stack_images_;
  Doorbell bell_;  // before the sink, which may ring it
  std::unique_ptr<sink::Sink> sink_;
  sink::Deferring* deferring_ = nullptr;  // these five: further abilities of the sink; null: it lacks one
  sink::Polled* polled_ = nullptr;
  sink::RowKeeping* rows_kept_ = nullptr;
  sink::WindowKeeping* windows_kept_ = nullptr;
  const sink::Sending* sending_ = nullptr;
  std::shared_ptr<sink::ChunkBoard> made_;  // where this sink puts chunks, if it makes any for others
  std::unique_ptr<StackCopies> copies_;     // of a line that may drop
  std::unique_ptr<WindowCopies> windows_;   // and the facts that outlive a dropped stack
  memory::Ring<const Stack*> queue_;
  std::vector<ErrorReason> results_;         // by slot of the stack, or of its copy
  std::vector<sink::SkippedImage> skipped_;  // scratch, a stack's
  ImageFates fates_;
  Accumulated open_{};  // set by close(), as the next one
  std::uint64_t stacks_ = 0;
  std::uint64_t next_stack_ = 0;                        // the sink has had those before, or was told that it never will
  std::uint32_t with_sink_ = 0;                         // stacks that it answered `later` for
  std::mutex owner_lock_;                               // held while the owner is called
  LineOwner* owner_;                                    // null: left behind
  std::atomic<std::uint64_t> offered_{0}, dropped_{0};  // release by the line, acquire by a status: one after another
  std::array<std::atomic<std::uint64_t>, kErrorReasons> errored_{};
  std::atomic<std::uint64_t> steps_{0};    // the finished work of the thread, in steps; relaxed, for its watcher
  std::atomic<Life> life_{Life::running};  // acq_rel: the line's thread and its watcher; one closes the sink
  std::uint64_t steps_seen_ = 0;           // by watch()
  std::int64_t steps_since_ = 0;
  mutable std::mutex lock_;  // guards what follows
  std::string close_error_;
  std::optional<FirstErrored> first_;
  std::optional<sink::SinkStats> last_stats_;  // of a sink that was left behind
  std::thread thread_;
};

using SinkLines = std::vector<std::shared_ptr<SinkLine>>;

/// Returns when each sink has completed its output, or was left behind; called after close() of all of them. Bounded by
/// the sinks that wait, and by the patience with those that may drop.
void finish(const SinkLines& lines) noexcept;

/// The books of a buffer: `decided` as the sinks were offered them, `lost` accepted images that are errored after all.
Books settled(Books decided, std::uint64_t lost, const SinkLines& lines) noexcept;

}  // namespace rashpa::receiver
