// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Moves a sender's bytes into the receiver's memory, behind one seam: the processor (cpu_engine.hpp), or a device
/// that works beside it (copy_engine.hpp), as a GPU does. The sender checks bounds and credits; an engine moves bytes,
/// and keeps the order that the receiver relies on: all lines, then the record, then the lock word.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/link/link.hpp"

namespace rashpa::link::pcie {

/// The progress of an engine's work, since the last call.
struct Progress {
  std::size_t writes = 0;     ///< done, or lost: their source memory is not read any more
  std::size_t announced = 0;  ///< events whose lock word can be seen: the receiver may be asleep over them
  std::size_t lost = 0;       ///< writes and events that are not done and never will be
};

/// Writes the images of one DTP; all calls come from its thread, none waits and none allocates. Posted memory must stay
/// where it is until it is reported done. The memory that it writes into outlives it.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Takes writes in order, all of them inside the memory, and returns their number. When it has taken fewer, call it
  /// again after take_done().
  virtual std::size_t copy(std::span<const BufferDescriptor> writes) noexcept = 0;
  /// Makes progress. A caller that asks twice without giving anything in between waits for the given work.
  virtual Progress take_done() noexcept = 0;
  /// Ends the image: writes the event's record to its place behind all writes taken, then its immediate into `lock`;
  /// the receiver sees both in this order. False: there is no room; ask again. The record is the caller's until the
  /// call returns.
  virtual bool announce(const Event& event, std::atomic<std::uint32_t>& lock) noexcept = 0;
  /// Writes and events taken and not done.
  [[nodiscard]] virtual std::size_t pending() const noexcept = 0;
  /// CRC32C of all writes taken since the latest image ended; empty while one of them has not been read, and always
  /// where makes_crc32c() says no.
  [[nodiscard]] virtual bool makes_crc32c() const noexcept = 0;
  [[nodiscard]] virtual std::optional<std::uint32_t> crc32c() const noexcept = 0;
  /// The image ends without an event.
  virtual void drop_image() noexcept = 0;
  /// Returns true when the engine moves nothing any more; further work is lost at once.
  [[nodiscard]] virtual bool failed() const noexcept { return false; }
};

}  // namespace rashpa::link::pcie
