// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sink contract, for the outputs of a pipeline. docs/how-to/add_a_sink.md shows how to write a sink.
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
  std::uint64_t images_written = 0;  ///< accepted images that are stored and readable, as the sink defines it
  std::uint64_t bytes_written = 0;   ///< bytes of those images before compression
  std::uint64_t bytes_stored = 0;    ///< bytes that went to storage
};

/// The state of a consumer to which a sink sends images.
struct ConsumerStatus {
  std::string endpoint;         ///< address to which it connects
  std::uint32_t connected = 0;  ///< number of connections at the sink's last check
  std::uint64_t sent = 0;       ///< images that its queue has taken
  std::uint64_t missed = 0;     ///< images without room in its queue, or sent while it was not connected
};

/// An image that put() has taken but that was not stored.
struct LostImage {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  std::string reason;
};

/// The facts of an image that the sink never got, because its queue was full.
struct SkippedImage {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  Completeness completeness = Completeness::open;
  Decision decision = Decision::none;  ///< errored for an image that the sink should have kept
  VetoReason reason = VetoReason::none;
  ErrorReason error = ErrorReason::none;
};

/// The state of the stack of put(): finished, or still being read by the sink.
enum class Put : std::uint8_t {
  done,   ///< finished: the stack may be reused
  later,  ///< still read: take() returns it later
};

/// A destination of accepted images. Each sink has its own thread, which makes all calls unless stated otherwise, in
/// the order connect, begin, { skip, put, take }, settle, close. So a sink's work and waits do not delay other sinks.
/// Only the constructor, begin() and close() throw. The classes below are abilities of only some sinks: the caller asks
/// for each once (core/ability.hpp).
class Sink {
 public:
  virtual ~Sink() = default;
  /// Returns true when put() never waits and finishes at once. Such a sink needs no thread: the distributor calls it.
  [[nodiscard]] virtual bool is_prompt() const noexcept { return false; }
  /// Begins the run: outputs get their final names and replace older ones. Throws FileError. Idempotent; the thread
  /// that starts the run calls it.
  virtual void begin() {}
  /// Stores the accepted images of the stack and, where the sink keeps tables, a row for each image; stacks come in
  /// order. Nobody changes the stack while the sink has it. But a source without flow control may overwrite an image
  /// that lies in its slot: call Stack::intact() after the last read of each image.
  /// `results` has one value for each image of the stack, initially none, and lives as long as the sink has the stack.
  /// The sink sets it for accepted images that it could not keep: storage, with the reason in error(), or overwritten.
  /// It sets dropped for images without a consumer, which is no failure where another sink has the image. After an
  /// exception, none of the stack's images counts as kept.
  virtual Put put(const Stack& stack, std::span<ErrorReason> results) = 0;
  /// Flushes the output to the disk, verifies it, and returns the lost images in order. Called after the last put(),
  /// when all stacks have returned. A lost image no longer counts as written.
  virtual std::vector<LostImage> settle() { return {}; }
  /// Completes the output: tables, links, end time. `books` are those of this sink, with its lost images as errored.
  /// Throws FileError when that fails. Idempotent.
  virtual void close(const Books& books) = 0;
  /// Returns the sink's counts. Any thread.
  [[nodiscard]] virtual SinkStats stats() const noexcept = 0;
  /// Returns the first error of this sink, empty when there was none. Any thread.
  [[nodiscard]] virtual std::string error() const = 0;
};

/// A sink that keeps stacks after put(), which returns Put::later for them.
class Deferring {
 public:
  virtual ~Deferring() = default;
  /// Connects the bell that the sink rings when take() has a stack; called once, before all else. The bell outlives the
  /// sink.
  virtual void connect(Doorbell& bell) = 0;
  /// Returns a finished stack for which put() returned `later`, in any order; null when there is none.
  virtual const Stack* take() noexcept = 0;
};

/// A sink whose storage completes work after put().
class Polled {
 public:
  virtual ~Polled() = default;
  /// Counts completed work; called from time to time, also without new stacks.
  virtual void poll() noexcept = 0;
};

/// A sink that keeps a row for each image.
class RowKeeping {
 public:
  virtual ~RowKeeping() = default;
  /// Adds rows for images of dropped stacks, in order, between the put() calls around them.
  virtual void skip(std::span<const SkippedImage> images) = 0;
};

/// A sink that keeps accumulation windows.
class WindowKeeping {
 public:
  virtual ~WindowKeeping() = default;
  /// Stores windows that belong to no stack of put(), by accumulation. For a sink that may miss stacks, they come
  /// between the put() calls around them; the windows that end with the run come last. Throws nothing; Sink::error()
  /// reports windows that cannot be kept.
  virtual void put_windows(const Accumulated& accumulated) = 0;
};

/// A sink that sends images to consumers. Any thread.
class Sending {
 public:
  virtual ~Sending() = default;
  /// Returns the consumers to which it sends.
  [[nodiscard]] virtual std::vector<ConsumerStatus> consumers() const = 0;
  /// Returns how often its sending process died and was replaced.
  [[nodiscard]] virtual std::uint64_t restarts() const = 0;
};

}  // namespace rashpa::sink
