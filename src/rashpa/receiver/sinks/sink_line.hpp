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

/// The first image that was lost, with the reason.
struct FirstErrored {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  ErrorReason reason = ErrorReason::none;
  std::string text;  ///< the first reported error
};

/// The books of one sink: accepted = written + dropped + errored + waiting; at the end nothing waits.
struct SinkStatus {
  std::string name;
  OnFull on_full = OnFull::wait;
  std::uint64_t accepted = 0;  ///< images that the sink must keep
  std::uint64_t written = 0;
  std::uint64_t dropped = 0;  ///< images never passed to it because its queue was full, or for which it had no consumer
  std::uint64_t errored = 0;
  std::uint64_t waiting = 0;  ///< images in its queue, or being stored
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_stored = 0;
  std::string error;                              ///< the first error
  std::optional<FirstErrored> first{};            ///< the lost image with the lowest index
  std::vector<sink::ConsumerStatus> consumers{};  ///< consumers to which it sends
  std::uint64_t restarts = 0;                     ///< times that its sending process died and was replaced
  bool left_behind = false;                       ///< the sink did not return, and the run stopped waiting for it
};

/// Gets reports from lines about stacks and images. The threads of all lines call it.
class LineOwner {
 public:
  /// Reports that the line has finished with the stack. Only lines that wait call it.
  virtual void through(const Stack& stack) noexcept = 0;
  /// Reports that the sink `name` has lost an accepted image.
  virtual void lost(std::string_view name, std::uint64_t index, std::uint64_t frame, ErrorReason reason,
                    const std::string& text) noexcept = 0;
  /// Reports that the sink had no consumer for an accepted image, which is a loss where no other sink has the image.
  virtual void passed_over(std::uint64_t index, std::uint64_t frame, const std::string& text) noexcept = 0;
  /// Returns the facts of an image, for a sink that never got it.
  [[nodiscard]] virtual sink::SkippedImage skipped(std::uint64_t index) const noexcept = 0;
  /// Returns the books of the buffer without losses of sinks. Called when all stacks have been offered.
  [[nodiscard]] virtual Books decided() const noexcept = 0;
  /// Returns the images that are due so far, or in total once the end is known. All images of offered stacks are among
  /// them.
  [[nodiscard]] virtual std::uint64_t images() const noexcept = 0;

 protected:
  ~LineOwner() = default;
};

/// One sink with its queue, its thread and its books. A line that waits holds the slots of a stack until its sink has
/// finished. A line that may drop works on copies, and can be abandoned at the end. The thread keeps the line alive.
class SinkLine : public std::enable_shared_from_this<SinkLine> {
 public:
  /// Makes the sink; throws what the sink throws. `stacks` is the size of the ring, `lost_runs` the most runs of an
  /// image. `owner` outlives this object, or join() returned.
  SinkLine(SinkConfig config, const Output& output, std::uint32_t stacks, std::uint32_t lost_runs, LineOwner& owner);
  ~SinkLine();
  SinkLine(const SinkLine&) = delete;
  SinkLine& operator=(const SinkLine&) = delete;

  /// Lets the sink create its output. Throws what the sink throws.
  void begin();
  /// Starts the thread. Throws when the system has no thread left; the line can be closed all the same.
  void start(int processor);

  // From the distributor's thread.

  /// Passes a stack to the sink. Returns false when the line may drop and has no room: the sink misses the stack. A
  /// line that waits always takes it, and calls through() before or after this returns.
  bool offer(const Stack& stack) noexcept;
  /// Closes the line after `stacks` stacks, offered or not. The line stores queued stacks, then `open`, the
  /// accumulation windows that end with the run, and then completes the output.
  void close(std::uint64_t stacks, const Accumulated& open) noexcept;
  /// Returns true when the sink has stored and completed everything, or was abandoned.
  [[nodiscard]] bool done() const noexcept {
    const Life now = life();
    return now == Life::done || now == Life::left;
  }
  /// Abandons a sink that does not return, and does the remaining work of a prompt sink. Call it after close(),
  /// repeatedly until done().
  void watch(std::int64_t now) noexcept;
  void join() noexcept;

  // From any thread.

  [[nodiscard]] const std::string& name() const noexcept { return config_.name; }
  [[nodiscard]] bool may_drop() const noexcept { return copies_ != nullptr; }
  [[nodiscard]] SinkStatus status() const;
  [[nodiscard]] std::string error() const;
  /// Returns the number of images that are neither written nor known to be lost.
  [[nodiscard]] std::uint64_t unsettled() const noexcept;
  [[nodiscard]] const sink::Sink& sink() const noexcept { return *sink_; }

 private:
  /// The states of a line, in order. From `closed` on, a line that may drop can be abandoned; later work of its thread
  /// no longer counts.
  enum class Life : std::uint8_t {
    made,
    begun,       ///< the sink has created its output
    running,     ///< stacks may come
    closed,      ///< no more stacks come
    completing,  ///< all stacks are stored, and the output is being completed
    done,
    leaving,  ///< the sink was abandoned, and its images are being settled
    left,
  };
  [[nodiscard]] Life life() const noexcept { return life_.load(std::memory_order_acquire); }
  [[nodiscard]] bool left_behind() const noexcept { return life() >= Life::leaving; }
  /// Changes the state; returns false when it is not `from`, because the line was abandoned.
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

/// Waits until each sink has completed its output or was abandoned. Call it after close() of all lines. Sinks that
/// wait, and the patience with those that may drop, bound its duration.
void finish(const SinkLines& lines) noexcept;

/// Returns the final books of a buffer. `decided` are the books as offered to the sinks; `lost` is the number of
/// accepted images that became errored afterwards.
Books settled(Books decided, std::uint64_t lost, const SinkLines& lines) noexcept;

}  // namespace rashpa::receiver
