// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sink contract: where results go. docs/how-to/add_a_sink.md shows how one is made.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/system/doorbell.hpp"

namespace rashpa::sink {

struct SinkStats {
  std::uint64_t images_written = 0;  ///< accepted images that are where they should be and can be read, see the sink
  std::uint64_t bytes_written = 0;   ///< bytes of those images, before compression
  std::uint64_t bytes_stored = 0;    ///< bytes that went to storage
};

/// A consumer to which a sink sends images.
struct ConsumerStatus {
  std::string endpoint;         ///< the address to which it connects
  std::uint32_t connected = 0;  ///< how many are, there, when the sink looked last
  std::uint64_t sent = 0;       ///< images that its queue has taken
  std::uint64_t missed = 0;     ///< images for which it had no room, or that came before or after it
};

/// An image that put() has taken and that is not stored after all.
struct LostImage {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  std::string reason;
};

/// The facts of an image that was never handed to the sink, because its queue was full.
struct SkippedImage {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  Completeness completeness = Completeness::open;
  Decision decision = Decision::none;  ///< an image that the sink should have kept: errored
  VetoReason reason = VetoReason::none;
  ErrorReason error = ErrorReason::none;
};

/// Tells if a sink still reads the stack that put() gave it.
enum class Put : std::uint8_t {
  done,   ///< no: the stack may go back
  later,  ///< yes: it comes back from take()
};

/// Every sink has a thread of its own, which makes all calls but those that say otherwise, in the order
/// connect, begin, { skip, put, take }, settle, close. No other sink feels its work or its waits there.
/// Nothing here throws but the constructor, begin() and close(). The classes below it are abilities of only some sinks:
/// the caller of a sink asks for them once (core/ability.hpp).
class Sink {
 public:
  virtual ~Sink() = default;
  /// Returns true when put() is always done at once and never waits for anything. Such a sink needs no thread: the
  /// distributor calls it.
  [[nodiscard]] virtual bool is_prompt() const noexcept { return false; }
  /// The run begins: outputs take their names, and the places of older ones. Throws FileError. Idempotent; called by
  /// the thread that starts the run.
  virtual void begin() {}
  /// Stores the accepted images of the stack and, where the sink keeps tables, a row for each image; stacks come in
  /// order. Nobody changes the stack while the sink has it, but a source without flow control may write over an image
  /// that lies in its slot: Stack::intact() is asked after the last read of each image.
  ///
  /// `results` has one value for each image of the stack, none at first, and lives as long as the sink has the stack.
  /// The sink sets it for accepted images that it could not keep: storage, with the reason in error(), or overwritten;
  /// or that it had for nobody: dropped, which is no failure where another sink has the image.
  /// An exception is a fault of the sink: none of the stack's images counts as kept.
  virtual Put put(const Stack& stack, std::span<ErrorReason> results) = 0;
  /// Brings to the disk what was stored, looks whether it is there, and returns what is not, in order of images. Called
  /// after the last put(), when all stacks are back. A lost image does not count as written any more.
  virtual std::vector<LostImage> settle() { return {}; }
  /// Completes the output: tables, links, end time. `books`: of this sink; its lost images are errored. Throws
  /// FileError when that fails. Idempotent.
  virtual void close(const Books& books) = 0;
  /// Any thread.
  [[nodiscard]] virtual SinkStats stats() const noexcept = 0;
  /// The first error of this sink, empty when there was none. Any thread.
  [[nodiscard]] virtual std::string error() const = 0;
};

/// A sink that keeps stacks behind put(), which answers Put::later for them.
class Deferring {
 public:
  virtual ~Deferring() = default;
  /// Connects the bell that the sink rings whenever take() has something; called once, first. The bell outlives the
  /// sink.
  virtual void connect(Doorbell& bell) = 0;
  /// A stack that put() answered `later` for and that the sink has done with, in any order; null when there is none.
  virtual const Stack* take() noexcept = 0;
};

/// A sink whose storage answers behind put().
class Polled {
 public:
  virtual ~Polled() = default;
  /// Now and then, also while no stack comes: counts what has come back.
  virtual void poll() noexcept = 0;
};

/// A sink that keeps a row for each image.
class RowKeeping {
 public:
  virtual ~RowKeeping() = default;
  /// Images of stacks that were dropped, in order, between the put() before and the one after.
  virtual void skip(std::span<const SkippedImage> images) = 0;
};

/// A sink that keeps what is added up over images.
class WindowKeeping {
 public:
  virtual ~WindowKeeping() = default;
  /// Windows of accumulations that came with no Stack::accumulated, by accumulation: those of a sink that may miss
  /// stacks, between the put() before and the one after, and behind the last those that were open at the end of the
  /// run. Throws nothing; Sink::error() reports windows that cannot be kept.
  virtual void put_windows(const Accumulated& accumulated) = 0;
};

/// A sink that sends images to others. Any thread.
class Sending {
 public:
  virtual ~Sending() = default;
  /// The consumers to which it sends.
  [[nodiscard]] virtual std::vector<ConsumerStatus> consumers() const = 0;
  /// Returns how often the process that it sends by has died, and another one has come.
  [[nodiscard]] virtual std::uint64_t restarts() const = 0;
};

}  // namespace rashpa::sink
