// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/numbers/histogram.hpp"
#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/feedback/description.hpp"
#include "rashpa/feedback/ring_writer.hpp"
#include "rashpa/publish/feedback_words.hpp"
#include "rashpa/publish/listener.hpp"
#include "rashpa/publish/process.hpp"
#include "rashpa/publish/shared_words.hpp"

namespace rashpa::feedback {

/// The settings by which a buffer's decisions are published.
struct Options {
  std::string ring{};            ///< path of the ring's file; empty: a ring without a name, for ZeroMQ alone
  std::string zmq{};             ///< endpoint of a PUB socket; empty: none
  std::uint64_t entries = 4096;  ///< number of images that the ring holds
};

/// The counts of published images, with their latencies.
struct PublisherStatus {
  std::string ring{};
  std::string zmq{};            ///< endpoint for subscribers
  std::uint64_t published = 0;  ///< images published in the ring
  std::uint64_t sent = 0;       ///< images of these given to ZeroMQ
  std::uint64_t dropped = 0;  ///< images of these never given to ZeroMQ, because its process was behind by a whole ring
  /// number of times that a subscriber's queue was full and it began to lose images; it knows how many
  std::uint64_t full = 0;
  std::uint64_t restarts = 0;          ///< number of times that the ZeroMQ process died and was replaced
  const Histogram* in_ring = nullptr;  ///< latency from the last packet of an image to its entry in the ring
  const Histogram* by_zmq = nullptr;   ///< latency from the last packet of an image to ZeroMQ
};

/// Publishes a unit's decisions in a ring at once. From the ring, a separate process (publish/process.hpp) sends them
/// to subscribers of a ZeroMQ socket. Neither waits for a reader.
class Publisher {
 public:
  /// Opens file and socket. Throws what RingWriter, Listener and Process throw.
  Publisher(const Options& options, const Described& what);
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// Publishes the images of a decided stack. One thread; it neither allocates nor locks, and makes one system call.
  void publish(const Stack& stack) noexcept;
  /// Ends publishing. Returns when ZeroMQ has all images, or after some seconds if it does not take them.
  void end() noexcept;
  /// Returns the counts. Any thread; it allocates.
  [[nodiscard]] PublisherStatus status() const;

  /// Returns the process that gives images to ZeroMQ, or null when there is none. For tests.
  [[nodiscard]] const publish::Process* process() const noexcept { return process_.get(); }

 private:
  void start_process(const Options& options, const Described& what);

  std::string buffer_;
  std::string description_;
  RingWriter ring_;
  std::string ring_path_;
  bool ended_ = false;
  bool said_cut_ = false;  ///< the log has a message that the ring's file was truncated
  Histogram in_ring_;
  FileDescriptor to_read_;  ///< the ring, for the ZeroMQ process
  std::unique_ptr<publish::Listener> listener_;
  std::unique_ptr<publish::SharedWords<publish::FeedbackWords>> words_;
  std::unique_ptr<publish::Process> process_;  ///< declared last, as it uses all members above
  std::atomic<std::uint64_t> left_{0};  ///< images that the process had not sent when it was ended; relaxed order
};

}  // namespace rashpa::feedback
