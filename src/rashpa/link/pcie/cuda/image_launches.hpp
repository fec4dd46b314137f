// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes images of one DTP into memory of a device. Lines and ends are gathered into launches (image_kernel.hpp),
/// which use four streams in turn: while one launch begins or ends, the others copy. While a launch is in flight, small
/// images wait for more, so that each driver call moves some MiB.
/// Launches in flight write their lines in any order. An image that would write memory which an earlier one still
/// writes is enqueued behind that one: without credits, a source may return to a slot whose earlier lines are in
/// flight.
#include <driver_types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "rashpa/link/pcie/copy_engine.hpp"
#include "rashpa/link/pcie/cuda/image_kernel.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::link::pcie {

/// The memory that a copy writes: runs of equal length at equal distances.
struct Written {
  const std::byte* to = nullptr;
  std::uint64_t pitch = 0;
  std::uint32_t width = 0;
  std::uint32_t rows = 0;

  /// Returns false when both share no byte. A result of true may be wrong.
  [[nodiscard]] bool may_overlap(const Written& other) const noexcept;
};

/// A CUDA event without timing, on which streams wait.
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

/// The launches of one DTP. One thread makes all calls, on the current device; only wait() waits. The constructor
/// throws ResourceError.
class ImageLaunches {
 public:
  static constexpr std::size_t kWays = 4;

  ImageLaunches();

  /// Adds lines of the current image, for which fits_kernel() is true.
  cudaError_t add(const CopiedLines& lines) noexcept;
  /// Prepares another kind of copy that belongs to the current image and writes `written`. `stream` gets the stream for
  /// it.
  cudaError_t begin_copy(const Written& written, cudaStream_t& stream) noexcept;
  /// Returns the number of that stream, below kWays; streams share no state.
  [[nodiscard]] std::size_t way() const noexcept { return way_; }
  /// Ends the current image: its record and lock word are written after it and all earlier images.
  cudaError_t add(const EndOfImage& end) noexcept;
  /// Returns true when go_on() would do nothing.
  [[nodiscard]] bool idle(Company company) const noexcept {
    return batch_.empty() || (company == Company::may_come && done() != launched_);
  }
  /// Starts the gathered copies if nothing else is in flight, or if `company` is none.
  cudaError_t go_on(Company company) noexcept;
  /// Returns the state of the launches; cudaErrorNotReady: work is in flight.
  [[nodiscard]] cudaError_t query() const noexcept;
  void wait() const noexcept;

 private:
  struct Way {
    memory::cuda::Stream stream;
    Signal signal;
    std::uint64_t behind = 0;  // all launches up to that number are done before later work
  };
  /// A write by the last launch or the next one.
  struct Write {
    Written written;
    std::uint64_t launch = 0;
    std::size_t way = 0;
  };
  static constexpr std::uint64_t kTogether = 8U << 20;                 // bytes that are worth a launch
  static constexpr std::size_t kWrites = 2 * CopyEngine::kMostCopies;  // a power of two

  [[nodiscard]] std::uint64_t done() const noexcept;
  cudaError_t write(const Written& written) noexcept;
  cudaError_t launch_gathered() noexcept;

  std::array<Way, kWays> ways_;
  memory::cuda::DeviceMemory words_;  // the sequence, then those of each way
  memory::cuda::PinnedMemory done_;
  ImageBatch batch_{};
  std::uint64_t gathered_ = 0;  // bytes
  std::uint64_t launched_ = 0;  // launches
  std::size_t way_ = 0;
  std::array<Write, kWrites> writes_{};  // a ring of those that may be on their way
  std::uint64_t writes_begin_ = 0;
  std::uint64_t writes_end_ = 0;
};

}  // namespace rashpa::link::pcie
