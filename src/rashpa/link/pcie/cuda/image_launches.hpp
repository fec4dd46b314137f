// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How images of one DTP go into memory of a device. Their lines and ends are gathered into launches
/// (image_kernel.hpp), which go into four streams in turn: while one launch begins or ends, the others copy. While a
/// launch is in flight, small images wait for others, so that a call of the driver moves some MiB.
///
/// Lines of all launches on their way are written in any order. Where an image would write memory that an earlier one
/// still writes, it is put behind that: without credits, a source may come round to a slot whose earlier lines are on
/// their way.
#include <driver_types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "rashpa/link/pcie/copy_engine.hpp"
#include "rashpa/link/pcie/cuda/image_kernel.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::link::pcie {

/// The writes of a copy: runs of equal length at equal distances.
struct Written {
  const std::byte* to = nullptr;
  std::uint64_t pitch = 0;
  std::uint32_t width = 0;
  std::uint32_t rows = 0;

  /// Returns false when not a byte of both is the same. True may be wrong.
  [[nodiscard]] bool may_overlap(const Written& other) const noexcept;
};

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

/// All calls from one thread, on the current device; none waits but wait(). Constructor: throws ResourceError.
class ImageLaunches {
 public:
  static constexpr std::size_t kWays = 4;

  ImageLaunches();

  /// Lines of the image in hand, which fits_kernel() takes.
  cudaError_t add(const CopiedLines& lines) noexcept;
  /// Prepares a copy by other means that belongs to the image in hand and writes `written`; `stream` becomes the stream
  /// to put it into.
  cudaError_t begin_copy(const Written& written, cudaStream_t& stream) noexcept;
  /// The number of that stream among kWays: streams share no state.
  [[nodiscard]] std::size_t way() const noexcept { return way_; }
  /// The image in hand ends; its record and lock word are written behind it and all before.
  cudaError_t add(const EndOfImage& end) noexcept;
  /// Returns true when go_on() would do nothing.
  [[nodiscard]] bool idle(Company company) const noexcept {
    return batch_.empty() || (company == Company::may_come && done() != launched_);
  }
  /// Begins the gathered copies where nothing else is on its way, or no company will come.
  cudaError_t go_on(Company company) noexcept;
  /// cudaErrorNotReady: something is on its way.
  [[nodiscard]] cudaError_t query() const noexcept;
  void wait() const noexcept;

 private:
  struct Way {
    memory::cuda::Stream stream;
    Signal signal;
    std::uint64_t behind = 0;  // all launches up to that number are done before later work
  };
  /// A write of the last launch, or of the next one.
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
