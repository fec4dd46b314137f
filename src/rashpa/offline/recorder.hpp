// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rashpa/core/numbers/histogram.hpp"
#include "rashpa/offline/runner.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "rashpa/receiver/sinks/sink_line.hpp"
#include "rashpa/sink/special_mask.hpp"

namespace rashpa::offline {

/// A run's buffer without a receiver: the same pipeline, sinks, files and books, for images in memory. No sink drops
/// images, because the caller waits. One thread at a time; status() from any.
class Recorder final : private Taker, private receiver::LineOwner {
 public:
  /// Creates the parts. `config.images` is the number of images, or the most that may come (`config.end`). `dtps` only
  /// describe the metadata of files, which the caller makes. Throws what a receiver throws.
  explicit Recorder(const receiver::BufferConfig& config, std::uint32_t run);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Creates the output files. Throws FileError.
  void begin();
  /// Processes the next images, and sets Images::first_index. Returns when the unit has all of them and the sinks have
  /// finished them. Their number is a multiple of the stack, except for the last ones. Throws ConfigError when there
  /// are more than announced, or after finish().
  void process(Images images);
  /// Ends the run and completes the outputs; images that did not come are missing.
  void finish();
  [[nodiscard]] receiver::BufferStatus status() const;
  /// Returns the bytes that the unit has allocated on its device.
  [[nodiscard]] std::size_t device_bytes() const noexcept { return runner_.device_bytes(); }

 private:
  void take(Stack& stack) noexcept override;
  Stack* give_back() noexcept override;
  void through(const Stack& stack) noexcept override;
  void lost(std::string_view name, std::uint64_t index, std::uint64_t frame, ErrorReason reason,
            const std::string& text) noexcept override;
  void passed_over(std::uint64_t index, std::uint64_t frame, const std::string& text) noexcept override;
  [[nodiscard]] sink::SkippedImage skipped(std::uint64_t index) const noexcept override;
  [[nodiscard]] Books decided() const noexcept override;
  [[nodiscard]] std::uint64_t images() const noexcept override {
    return config_.end == End::known ? output_.images : next_;
  }
  void count(const StackImage& image);
  void note_errored(std::uint64_t index, std::uint64_t frame, ErrorReason reason, const std::string& text);
  void let_go(const Stack& stack) noexcept;

  receiver::BufferConfig config_;
  Runner runner_;
  std::shared_ptr<sink::SpecialMask> mask_;  // null: no special values
  receiver::Output output_;
  std::uint64_t next_ = 0;  // image
  std::uint64_t stacks_ = 0;
  bool begun_ = false;
  bool finished_ = false;
  Histogram ready_;
  Histogram decided_ns_;
  Histogram written_ns_;
  mutable std::mutex lock_;             // guards what follows
  std::vector<std::uint32_t> holders_;  // by slot: lines that still read it
  std::vector<Stack*> back_;            // through, and not taken back by the runner
  Books books_;
  std::vector<std::uint64_t> by_reason_;
  std::array<std::uint64_t, kErrorReasons> by_error_{};
  std::set<std::uint64_t> lost_;
  std::optional<receiver::FirstErrored> first_errored_;
  receiver::SinkLines lines_;  // last: their threads use the above
};

}  // namespace rashpa::offline
