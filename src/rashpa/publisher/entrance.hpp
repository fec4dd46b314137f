// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/core/libraries/zeromq.hpp"

namespace rashpa::publisher {

/// The most connections from outside at all sockets of a process.
inline constexpr unsigned kMostConnections = 512;
/// The most bytes of a message from outside, where consumers send only subscriptions and handshakes.
inline constexpr std::int64_t kMostBytesFromOutside = 256;
/// The most messages from outside that are read before the next message is sent.
inline constexpr int kMostMessages = 64;
/// The most subscriptions of all consumers together; a consumer of one buffer needs one.
inline constexpr std::uint64_t kMostSubscriptions = 4096;

/// Accepts the connections of a ZeroMQ socket through a listening socket of the parent. At the limit it stops
/// accepting; the system then ignores further clients, which retry. One thread.
class Entrance {
 public:
  enum class Event : std::uint8_t { came, failed, went };  ///< a handshake succeeded or failed, or a connection ended

  /// Sets the limits of `socket` and starts accepting. `listener` is its descriptor, which stays the caller's; `most`
  /// is the connections at a time. Throws ResourceError.
  Entrance(const ZeromqLibrary& zeromq, void* context, void* socket, int listener, unsigned most);
  ~Entrance();
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  /// Returns the next event, or nothing. It also starts and stops accepting; a few clients more than allowed may
  /// connect meanwhile. Never waits.
  std::optional<Event> next() noexcept;
  /// Handles all events so far.
  void look() noexcept {
    while (next()) {
    }
  }
  /// Returns the socket to poll, which is readable when there is an event.
  [[nodiscard]] void* monitor() const noexcept { return monitor_; }
  [[nodiscard]] unsigned connections() const noexcept { return connections_; }

 private:
  bool bind();
  void open(bool wide) noexcept;
  const ZeromqLibrary& zeromq_;
  void* socket_;
  void* monitor_ = nullptr;
  int listener_;
  unsigned most_;
  bool open_ = true;
  unsigned connections_ = 0;
};

/// Counts the subscriptions of consumers. One thread.
class Subscriptions {
 public:
  /// Counts a message that a socket of subscribers got: a byte 1 and a topic, or 0 and a topic, or arbitrary bytes.
  /// Throws ResourceError above kMostSubscriptions, which no honest consumers reach.
  void count(std::span<const std::byte> message);

 private:
  std::uint64_t there_ = 0;
};

}  // namespace rashpa::publisher
