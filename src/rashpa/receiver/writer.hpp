#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/doorbell.hpp"
#include "rashpa/core/histogram.hpp"
#include "rashpa/receiver/config.hpp"
#include "rashpa/scheduler/lane.hpp"

namespace rashpa::receiver {

/// One accepted image, copied for a preview.
struct Preview {
  std::uint64_t frame_number = 0;
  std::vector<std::byte> pixels;  ///< height × width of Output::pixel
};

/// Images that were vetoed for one reason.
struct ReasonCount {
  std::string name;
  std::uint64_t images = 0;
};

/// The lowest image that is errored, and why.
struct FirstErrored {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  ErrorReason reason = ErrorReason::none;
  std::string text;  ///< the first error that was told of
};

/// The last thread of a buffer: takes decided stacks from the unit, hands them to the sinks, keeps the books of
/// decisions and gives the slots back. Status calls from any thread.
class Writer {
 public:
  /// Makes the sinks (throws what they throw). All references outlive this object. `wake` is rung after slots were
  /// given back.
  Writer(const BufferConfig& config, const Output& output, scheduler::Lane& lane, unit::Unit& unit, Doorbell& bell,
         Doorbell& wake);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// The run begins: the sinks take their places. Throws what they throw.
  void begin();
  void start(int processor);
  /// Returns when the lane is closed and all its stacks are written and the sinks are closed.
  void join() noexcept;
  /// All images are through; the sinks are completing what they have.
  [[nodiscard]] bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }

  [[nodiscard]] Books books() const noexcept;
  [[nodiscard]] std::vector<ReasonCount> vetoes() const;
  [[nodiscard]] std::array<std::uint64_t, kErrorReasons> errors() const noexcept;  ///< by ErrorReason
  [[nodiscard]] std::optional<FirstErrored> first_errored() const;
  /// Images of stacks that wait for the sinks, or are with them.
  [[nodiscard]] std::uint64_t to_write() const noexcept;
  [[nodiscard]] Decision decision(std::uint64_t image) const noexcept;
  [[nodiscard]] const Histogram& decision_latency() const noexcept { return decided_; }
  [[nodiscard]] const Histogram& written_latency() const noexcept { return written_; }
  [[nodiscard]] std::int64_t last_decided_ns() const noexcept {
    return last_decided_ns_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::string error() const;
  [[nodiscard]] const std::vector<std::unique_ptr<sink::Sink>>& sinks() const noexcept { return sinks_; }
  [[nodiscard]] const Output& output() const noexcept { return output_; }
  /// The latest copy, and asks for a fresh one. Empty before the first accepted image or when the pipeline has no dense
  /// output.
  [[nodiscard]] std::optional<Preview> preview() const;

 private:
  void run(int processor);
  void put(Stack& stack);
  void count(const StackImage& image) noexcept;
  void note_errored(std::uint64_t index, std::uint64_t frame_number, ErrorReason reason, const std::string& text);
  void keep_preview(const Stack& stack);
  void settle_sinks();
  void close_sinks();

  Output output_;
  scheduler::Lane& lane_;
  unit::Unit& unit_;
  Doorbell& bell_;
  Doorbell& wake_;
  std::vector<std::unique_ptr<sink::Sink>> sinks_;
  std::unique_ptr<std::atomic<std::uint8_t>[]> decisions_;
  std::array<std::atomic<std::uint64_t>, 4> by_completeness_{};
  std::array<std::atomic<std::uint64_t>, 4> by_decision_{};
  std::vector<std::atomic<std::uint64_t>> by_reason_;  // by VetoReason
  std::array<std::atomic<std::uint64_t>, kErrorReasons> by_error_{};
  std::atomic<std::uint64_t> through_{0};  // images that the sinks have had
  Histogram decided_;
  Histogram written_;
  std::atomic<std::int64_t> last_decided_ns_{0};
  mutable std::atomic<bool> preview_wanted_{true};
  mutable std::mutex preview_lock_;  // taken only when a preview was asked for
  Preview preview_;
  mutable std::mutex error_lock_;
  std::string close_error_;
  std::optional<FirstErrored> first_errored_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> done_{false};
  std::jthread thread_;
};

}  // namespace rashpa::receiver
