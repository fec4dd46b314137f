// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rashpa/publish/listener.hpp"
#include "rashpa/publish/process.hpp"
#include "rashpa/publish/shared_words.hpp"
#include "rashpa/publish/stream_words.hpp"
#include "rashpa/sink/sink.hpp"

namespace rashpa::sink::stream2 {

using publish::Pattern;

/// The configuration of a lane.
struct LaneConfig {
  std::string endpoint{};     ///< endpoint of the first outlet
  std::uint32_t outlets = 1;  ///< number of outlets, on consecutive ports
  Pattern pattern = Pattern::push;
  std::uint32_t waiting = 256;      ///< most messages that wait for a consumer
  std::uint64_t image_bytes = 0;    ///< bytes of a usual message with an image that does not compress
  std::uint64_t message_bytes = 0;  ///< bytes of the largest message
  std::int64_t run = -1;
  std::string buffer{};
};

/// Passes messages to the process that sends them (publish/process.hpp), which has the sockets, and reads that
/// process's counts of consumers. No call waits long: a process that is absent or stopped takes no messages. One
/// thread, except for status().
class Lane {
 public:
  /// Opens the ports and starts the process. Throws ConfigError, ResourceError.
  explicit Lane(const LaneConfig& config);
  /// Ends the process at once; queued messages are lost unless leave() was called before.
  ~Lane() = default;

  // The number of outlets at the last look.
  [[nodiscard]] std::size_t outlets() const noexcept { return listeners_.size(); }
  [[nodiscard]] bool is_connected(std::size_t outlet) const noexcept;
  /// Returns true when all connected consumers of this outlet have the start.
  [[nodiscard]] bool is_started(std::size_t outlet) const noexcept;
  /// Returns true when a consumer has the start and room for a message. It asks the publisher again when there seems to
  /// be no room.
  [[nodiscard]] bool wants_image();
  /// Returns true when the publisher was just started and lacks the start of the series.
  [[nodiscard]] bool owes_start() const noexcept;

  /// Sends the start, which each new consumer gets first; returns false when it was not taken.
  bool send_start(std::span<const std::byte> message);
  /// Sends both parts as one message to all outlets. Returns how many have taken it; nothing: the message is too large.
  std::optional<std::uint32_t> send_image(std::span<const std::byte> head, std::span<const std::byte> chunk);
  bool send_end(std::size_t outlet, std::span<const std::byte> message);
  /// Counts an image for which no message was made.
  void miss_image() noexcept;
  /// Leaves the stream: no more messages come, and queued messages get some seconds to leave.
  void leave() noexcept;

  /// Returns the state of an outlet. Any thread.
  [[nodiscard]] ConsumerStatus status(std::size_t outlet) const;
  [[nodiscard]] std::uint64_t restarts() const { return process_->restarts(); }
  /// Returns the sending process, for tests.
  [[nodiscard]] const publish::Process& process() const noexcept { return *process_; }

 private:
  /// Sends a request to the process; returns its answer, or nothing when there was none in time.
  std::optional<std::uint32_t> ask(publish::Ask what, std::span<const std::byte> head = {},
                                   std::span<const std::byte> rest = {}, std::size_t outlet = 0);
  std::optional<std::uint32_t> wait_for_answer();
  bool move(publish::Place from, publish::Place to) noexcept;
  [[nodiscard]] bool any_ready() const noexcept;

  std::uint64_t message_bytes_;
  std::vector<publish::Listener> listeners_;
  publish::SharedWords<publish::StreamWords> words_;
  std::atomic<std::uint64_t> missed_{0};  ///< at all outlets: images that were never offered, or that no outlet took
  std::unique_ptr<publish::Process> process_;  ///< declared last, as it uses all members above
};

}  // namespace rashpa::sink::stream2
