// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "rashpa/sink/sink.hpp"

namespace rashpa::sink {

/// Counts accepted images and stores none, for benchmarks of everything before the sink.
class NullSink final : public Sink {
 public:
  /// Creates the sink. `image_bytes` is the size of a dense image, for SinkStats::bytes_written.
  explicit NullSink(std::uint64_t image_bytes) : image_bytes_(image_bytes) {}
  [[nodiscard]] bool is_prompt() const noexcept override { return true; }
  Put put(const Stack& stack, std::span<ErrorReason> results) override;
  void close(const Books&) override {}
  [[nodiscard]] SinkStats stats() const noexcept override;
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  std::uint64_t image_bytes_;
  std::atomic<std::uint64_t> written_{0};  // relaxed: the line's thread counts, a status reads
};

}  // namespace rashpa::sink
