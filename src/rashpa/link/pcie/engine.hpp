// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Moves a sender's bytes into the receiver's memory: by the processor (cpu_engine.hpp), or by a device beside it such
/// as a GPU (copy_engine.hpp). The sender checks bounds and credits. The engine moves bytes and keeps the order on
/// which the receiver relies: all lines, then the record, then the lock word.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/link/link.hpp"

namespace rashpa::link::pcie {

/// The progress of an engine's work, since the last call.
struct Progress {
  std::size_t writes = 0;     ///< writes that are done or lost, so that their source memory is not read any more
  std::size_t announced = 0;  ///< events whose lock word is visible; the receiver may sleep and need a wake-up
  std::size_t lost = 0;       ///< writes and events that will never be done
};

/// Writes the images of one DTP into the receiver's memory. The DTP's thread makes all calls; none waits or allocates.
/// Posted memory must stay unchanged until it is reported done. The destination memory outlives the engine.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Accepts writes in order, all inside the memory, and returns their number. When it accepts fewer, call it again
  /// after take_done().
  virtual std::size_t copy(std::span<const BufferDescriptor> writes) noexcept = 0;
  /// Makes progress. Two calls without new work in between mean that the caller waits for the given work.
  virtual Progress take_done() noexcept = 0;
  /// Ends the image. Writes the event's record behind all accepted writes, then its immediate into `lock`; the receiver
  /// sees both in this order. Returns false when there is no room; call it again. The record is used only during the
  /// call.
  virtual bool announce(const Event& event, std::atomic<std::uint32_t>& lock) noexcept = 0;
  /// Returns the number of accepted writes and events that are not done.
  [[nodiscard]] virtual std::size_t pending() const noexcept = 0;
  /// makes_crc32c() returns whether the engine computes CRC32Cs. payload_crc32c() returns the CRC32C of all writes
  /// since the last end of an image; empty while one of them has not been read, and always where none is computed.
  [[nodiscard]] virtual bool makes_crc32c() const noexcept = 0;
  [[nodiscard]] virtual std::optional<std::uint32_t> crc32c() const noexcept = 0;
  /// Ends the image without an event.
  virtual void drop_image() noexcept = 0;
  /// Returns true when the engine has failed; all further work is lost at once.
  [[nodiscard]] virtual bool failed() const noexcept { return false; }
};

}  // namespace rashpa::link::pcie
