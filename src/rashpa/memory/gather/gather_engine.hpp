// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Moves payloads of packets from host memory into images in memory of a device. The host reads headers and lists runs;
/// the device reads the bytes (memory/cuda/cuda_gather.hpp is a GPU's, testing.hpp the processor's).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rashpa::memory {

/// The change of a run's bytes on their way: none, or two pixels of four bits in a byte become two bytes.
enum class Decode : std::uint8_t { copy, low_nibble_first, high_nibble_first };

/// Returns the bytes of the image for each byte of a packet.
[[nodiscard]] constexpr std::uint32_t widening(Decode decode) noexcept { return decode == Decode::copy ? 1 : 2; }

/// Adjoining bytes of a packet, and their place in the memory of images.
struct GatherRun {
  const std::byte* source = nullptr;  ///< in the engine's pool, or in buffers that were opened
  std::uint64_t destination = 0;      ///< offset in the memory of images
  std::uint32_t bytes = 0;            ///< bytes of the packet
  Decode decode = Decode::copy;
};

/// The sizes of an engine's host memory.
struct GatherRoom {
  std::size_t pool_bytes = std::size_t{2} << 20;  ///< packet buffers; small, so that they stay in the processor's cache
  std::uint32_t lists = 64;
  std::uint32_t runs = 1024;  ///< runs of a list
};

/// The device's part of a gather. One link thread uses it. The destructor waits for the work that has begun.
class GatherEngine {
 public:
  virtual ~GatherEngine() = default;
  /// Returns the packet buffers, which the device can read.
  [[nodiscard]] virtual std::span<std::byte> pool() noexcept = 0;
  /// Returns the room of list `number`.
  [[nodiscard]] virtual std::span<GatherRun> list(std::uint32_t number) noexcept = 0;
  /// Begins to move the first `runs` runs of list `number`. Lists end in the order of their begin. List and sources
  /// stay unchanged until then.
  virtual void start(std::uint32_t number, std::uint32_t runs) noexcept = 0;
  /// Returns how many lists have ended since the begin: their bytes are seen by all later work of the device. It does
  /// not wait.
  [[nodiscard]] virtual std::uint64_t ended() noexcept = 0;
  /// Returns true when the device has failed; lists that have not ended never will. After ended(), which notices it.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
};

/// Memory of images into which packets can be gathered.
class Gathering {
 public:
  virtual ~Gathering() = default;
  /// Makes an engine for one link thread. The memory outlives it. Set-up thread. Throws ResourceError.
  [[nodiscard]] virtual std::unique_ptr<GatherEngine> make_gather(const GatherRoom& room) = 0;
  /// Makes packet buffers of another owner sources of runs, as long as the returned object lives. Set-up thread. Throws
  /// ResourceError.
  [[nodiscard]] virtual std::shared_ptr<void> open(std::span<std::byte> buffers) = 0;
};

}  // namespace rashpa::memory
