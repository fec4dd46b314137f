// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rashpa/core/books/page_array.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/numbers/histogram.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/feedback/publisher.hpp"
#include "rashpa/receiver/config.hpp"
#include "rashpa/receiver/sinks/sink_line.hpp"
#include "rashpa/receiver/slot_comparison.hpp"
#include "rashpa/receiver/views/first_images.hpp"
#include "rashpa/receiver/views/preview.hpp"
#include "rashpa/scheduler/lane.hpp"

namespace rashpa::receiver {

/// The number of images that were vetoed for one reason.
struct ReasonCount {
  std::string name;
  std::uint64_t images = 0;
};

/// The last thread of a buffer: takes decided stacks from the unit, keeps the books of decisions, and passes each stack
/// to the lines of all sinks. Slots are released when the last line that holds them has finished. Before any sink, it
/// publishes decisions to programs that steer the experiment. Any thread may make status calls.
/// In these books an image is errored when a sink lost it, whatever the others did, or when all sinks dropped it. An
/// image that one sink dropped and another has is accepted. Each line also keeps the books of its own sink.
class Distributor final : private LineOwner {
 public:
  /// Makes the sinks. Throws what they throw, and ConfigError when there is none. All references outlive this object.
  /// `wake` is rung after slots were released. `mask` is derived from the first images; null: there is none.
  /// `comparing` is the number of threads that compare slots again.
  Distributor(const BufferConfig& config, const Output& output, scheduler::Lane& lane, unit::Unit& unit, Doorbell& bell,
              Doorbell& wake, std::shared_ptr<sink::SpecialMask> mask, unsigned comparing);
  ~Distributor();
  Distributor(const Distributor&) = delete;
  Distributor& operator=(const Distributor&) = delete;

  /// Begins the run: the sinks create their output. Throws what they throw.
  void begin();
  /// Starts the threads. Throws when the system has no thread left; none runs then.
  void start(int processor);
  /// Waits until the lane is closed and each sink has completed its output or was abandoned.
  void join() noexcept;
  /// Returns true when each sink has finished or was abandoned.
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }

  [[nodiscard]] Books books() const noexcept;
  [[nodiscard]] std::vector<ReasonCount> vetoes() const;
  [[nodiscard]] std::array<std::uint64_t, kErrorReasons> errors() const noexcept;  ///< by ErrorReason
  [[nodiscard]] std::optional<FirstErrored> first_errored() const;
  /// Returns the images of stacks in the unit, or with slots held for a sink.
  [[nodiscard]] std::uint64_t to_write() const noexcept;
  [[nodiscard]] Decision decision(std::uint64_t image) const noexcept;
  [[nodiscard]] const Histogram& decision_latency() const noexcept { return decided_ns_; }
  /// Returns the time from the decision until the slots were released.
  [[nodiscard]] const Histogram& written_latency() const noexcept { return written_ns_; }
  [[nodiscard]] std::int64_t last_decided_ns() const noexcept {
    return last_decided_ns_.load(std::memory_order_relaxed);
  }
  /// Returns the first error of a sink.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] const SinkLines& sinks() const noexcept { return lines_; }
  /// Returns the publisher; null when decisions are not published.
  [[nodiscard]] const feedback::Publisher* feedback() const noexcept { return feedback_.get(); }
  [[nodiscard]] const Output& output() const noexcept { return output_; }
  [[nodiscard]] std::shared_ptr<const Preview> preview() const { return previews_.latest(); }
  [[nodiscard]] std::shared_ptr<const Preview> first(FirstOf what) const { return firsts_.first(what); }

 private:
  struct Slot {
    Stack* stack = nullptr;
    std::atomic<std::uint32_t> holders{0};  // lines that wait, and this object's thread; acq_rel: all have read
    bool through = false;                   // guarded by release_lock_
  };

  void run(int processor);
  void end(std::uint64_t taken) noexcept;
  void distribute(Stack& stack);
  void tell_headers(Stack& stack) const noexcept;
  void count(const StackImage& image);
  [[nodiscard]] std::string why_errored(const StackImage& image) const;
  void note_errored(std::uint64_t index, std::uint64_t frame, ErrorReason reason, const std::string& text) noexcept;
  void let_go(const Stack& stack) noexcept;

  void through(const Stack& stack) noexcept override { let_go(stack); }
  void lost(std::string_view name, std::uint64_t index, std::uint64_t frame, ErrorReason reason,
            const std::string& text) noexcept override;
  void passed_over(std::uint64_t index, std::uint64_t frame, const std::string& text) noexcept override;
  [[nodiscard]] sink::SkippedImage skipped(std::uint64_t index) const noexcept override;
  [[nodiscard]] Books decided() const noexcept override;
  [[nodiscard]] std::uint64_t images() const noexcept override { return lane_.images(); }

  Output output_;
  scheduler::Lane& lane_;
  unit::Unit& unit_;
  Doorbell& bell_;
  Doorbell& wake_;
  std::shared_ptr<sink::SpecialMask> mask_;
  std::uint32_t holding_ = 0;  // lines that wait
  std::unique_ptr<Slot[]> slots_;
  std::uint32_t stacks_;
  std::mutex release_lock_;
  std::uint64_t released_ = 0;  // stacks
  SlotComparison comparison_;
  PageArray<std::uint16_t> decisions_;  // release by this object's thread, acq_rel by lines, acquire by a status
  std::array<std::atomic<std::uint64_t>, 4> by_completeness_{};  // relaxed: this thread and lines count, a status reads
  std::array<std::atomic<std::uint64_t>, 4> by_decision_{};      // as the sinks were offered them
  std::vector<std::atomic<std::uint64_t>> by_reason_;            // by VetoReason
  std::array<std::atomic<std::uint64_t>, kErrorReasons> by_error_{};
  std::array<log::Limiter, kErrorReasons> said_{};
  std::atomic<std::uint64_t> lost_{0};     // accepted, and errored after all; release by a line, acquire by a status
  std::atomic<std::uint64_t> through_{0};  // images whose slots went back
  Histogram decided_ns_;
  Histogram written_ns_;
  std::atomic<std::int64_t> last_decided_ns_{0};  // relaxed: this object's thread writes, a status reads one value
  Previews previews_;
  FirstImages firsts_;
  mutable std::mutex error_lock_;
  std::optional<FirstErrored> first_errored_;
  std::atomic<bool> done_{false};  // release by this object's thread, acquire by its owner: all counters are final
  SinkLines lines_;
  std::unique_ptr<feedback::Publisher> feedback_;
  std::jthread thread_;
};

}  // namespace rashpa::receiver
