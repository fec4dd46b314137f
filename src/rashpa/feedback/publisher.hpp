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

/// Describes how a buffer's decisions are published.
struct Options {
  std::string ring{};            ///< path of the ring's file; empty: only ZeroMQ, of a ring without a name
  std::string zmq{};             ///< endpoint of a PUB socket; empty: none
  std::uint64_t entries = 4096;  ///< images that the ring holds
};

/// The counts of published images.
struct PublisherStatus {
  std::string ring{};
  std::string zmq{};                   ///< the endpoint for others
  std::uint64_t published = 0;         ///< images, in the ring
  std::uint64_t sent = 0;              ///< of them, given to ZeroMQ
  std::uint64_t dropped = 0;           ///< of them, never: the process that gives them was behind by a whole ring
  std::uint64_t full = 0;              ///< times that a subscriber had no room and began to lose; it knows how many
  std::uint64_t restarts = 0;          ///< times that this process has died, and another one went on
  const Histogram* in_ring = nullptr;  ///< last packet of an image → it is in the ring
  const Histogram* by_zmq = nullptr;   ///< last packet of an image → ZeroMQ has it
};

/// Publishes what a unit has decided: at once in a ring, and from there, by a process of its own (publish/process.hpp),
/// to subscribers of a ZeroMQ socket. Neither waits for anybody.
class Publisher {
 public:
  /// Takes file and socket. Throws what RingWriter, Listener and Process throw.
  Publisher(const Options& options, const Described& what);
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// The images of a decided stack. One thread; it takes no memory and no lock, and calls the system once.
  void publish(const Stack& stack) noexcept;
  /// Ends publishing; returns when ZeroMQ has all of it, or does not take it within some seconds.
  void end() noexcept;
  /// Any thread; it allocates.
  [[nodiscard]] PublisherStatus status() const;

  /// The process that gives images to ZeroMQ; null: there is none. For tests.
  [[nodiscard]] const publish::Process* process() const noexcept { return process_.get(); }

 private:
  void start_process(const Options& options, const Described& what);

  std::string buffer_;
  std::string description_;
  RingWriter ring_;
  std::string ring_path_;
  bool ended_ = false;
  bool said_cut_ = false;  ///< that the ring's file was made shorter
  Histogram in_ring_;
  FileDescriptor to_read_;  ///< the ring
  std::unique_ptr<publish::Listener> listener_;
  std::unique_ptr<publish::SharedWords<publish::FeedbackWords>> words_;
  std::unique_ptr<publish::Process> process_;  ///< last: it uses all of the above
  std::atomic<std::uint64_t> left_{0};         ///< images that it had not sent when it was ended; relaxed
};

}  // namespace rashpa::feedback
