// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/sink/sink.hpp"

namespace rashpa::sink {

/// Gives each series of `images` images its own sink, one after another, so that files and books are complete by series
/// during the run. A stack never spans two series.
/// A separate thread completes the sink of a series and makes the next one but one, while the next series is being
/// stored. The sink waits for that thread only when the next series ends before.
class SeriesSink final : public Sink, public RowKeeping, public WindowKeeping {
 public:
  /// Makes the sink of a series, counted from 1, for sinks that have finished a stack when put() returns. Called by the
  /// constructor's thread, then by the completing thread.
  using Make = std::function<std::unique_ptr<Sink>(std::uint64_t series)>;

  /// Makes the first two sinks. `most` is the most series that can come. Throws what `make` throws, and ConfigError
  /// when a series has no image.
  SeriesSink(std::uint64_t images, std::uint64_t most, Make make);
  ~SeriesSink() override;
  void begin() override;
  Put put(const Stack& stack, std::span<ErrorReason> results) override;
  void skip(std::span<const SkippedImage> images) override;
  void put_windows(const Accumulated& accumulated) override;
  std::vector<LostImage> settle() override;
  void close(const Books& books) override;
  [[nodiscard]] SinkStats stats() const noexcept override;
  [[nodiscard]] std::string error() const override;

 private:
  void turn_to(std::uint64_t image);
  void next_series();
  void complete(Books books) noexcept;
  void prepare(std::uint64_t series) noexcept;
  void join() noexcept;
  void keep_error(const char* text) noexcept;
  void keep_lost(std::vector<LostImage>& lost);

  std::uint64_t images_;
  std::uint64_t most_;
  Make make_;
  std::uint64_t series_ = 1;
  std::unique_ptr<Sink> current_;  // changed under mutex_, by the line's thread
  Books books_{};                  // of the current series, as far as the sink has been given it
  std::thread thread_;             // that completes the series before
  mutable std::mutex mutex_;       // guards what follows
  std::unique_ptr<Sink> over_;     // the series before, while it is being completed
  std::unique_ptr<Sink> next_;
  SinkStats completed_{};  // of series that are over
  std::vector<LostImage> lost_;
  std::string first_error_;
  std::string close_error_;  // of a series that could not be completed
  bool closed_ = false;
};

}  // namespace rashpa::sink
