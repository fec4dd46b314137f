// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The streams of one DTP. Into host memory, whose bus is full with one copy at a time, everything is in one. Between
/// devices the copies of two images go side by side, and what ends an image waits in a stream of its own for its
/// copies: a copy of a few MiB takes as long there as it takes to begin the next.
///
/// No more than two images at a time: a source that waits for no credits may send another image into the same slot,
/// and rings have two slots at least.
#include <driver_types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::link::pcie {

/// An event without a time, which streams wait for.
class Signal {
 public:
  Signal();
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

enum class Side : std::uint8_t { one_by_one, side_by_side };

/// All calls from one thread, on the streams' device; none waits but wait(). Constructor: throws ResourceError.
class CopyStreams {
 public:
  explicit CopyStreams(Side side);

  /// For copies of the image in hand, in order.
  [[nodiscard]] cudaStream_t copies() const noexcept { return ways_[way_].stream.get(); }
  /// Which of kMostWays it is: what one uses, the other leaves alone.
  [[nodiscard]] std::size_t way() const noexcept { return way_; }
  /// For what is to come behind all copies and ends so far.
  [[nodiscard]] cudaStream_t ends() const noexcept { return ends_ ? ends_->get() : copies(); }
  /// Before something is put there.
  cudaError_t begin_end() noexcept;
  /// When the image's end was put there: the next image begins.
  cudaError_t image_ended() noexcept;
  /// cudaErrorNotReady: something is on its way.
  [[nodiscard]] cudaError_t query() const noexcept;
  void wait() const noexcept;

  static constexpr std::size_t kMostWays = 2;

 private:
  struct Way {
    memory::cuda::Stream stream;
    Signal copied;  // all copies so far
    Signal ended;   // the latest image that went this way
  };
  std::array<Way, kMostWays> ways_;
  std::optional<memory::cuda::Stream> ends_;
  std::size_t way_ = 0;
};

}  // namespace rashpa::link::pcie
