// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/core/libraries/zeromq.hpp"

namespace rashpa::publisher {

/// The limit of strangers: connections at all sockets of a process.
inline constexpr unsigned kMostConnections = 512;
/// The most bytes of a message from outside: consumers send subscriptions and handshakes alone.
inline constexpr std::int64_t kMostBytesFromOutside = 256;
/// Messages from outside that are read before something is sent again.
inline constexpr int kMostMessages = 64;
/// The most subscriptions of all consumers together; a listener to one buffer needs one.
inline constexpr std::uint64_t kMostSubscriptions = 4096;

/// Describes where connections come in to a socket of ZeroMQ: by a listening socket that the parent has. While as many
/// are there as may be, nobody else is let in: the system does not hear them, and they try again. One thread.
class Entrance {
 public:
  enum class Event : std::uint8_t { came, failed, went };  ///< a handshake succeeded or failed; a connection ended

  /// Sets the bounds of `socket` and lets connections in. `listener`: its descriptor, not taken over. `most`:
  /// connections at a time. Throws ResourceError.
  Entrance(const ZeromqLibrary& zeromq, void* context, void* socket, int listener, unsigned most);
  ~Entrance();
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  /// Returns the next event; none: nothing more. Also opens and shuts, while a few clients may slip through. Never
  /// waits.
  std::optional<Event> next() noexcept;
  /// Takes note of all that has happened.
  void look() noexcept {
    while (next()) {
    }
  }
  /// Has something to read when there is an event.
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

/// Counts subscriptions. One thread.
class Subscriptions {
 public:
  /// A message that a socket of subscribers has got: a byte 1 and a topic, or 0 and a topic, or anything else that
  /// somebody sends. Throws ResourceError when there are more than kMostSubscriptions: they cannot reach their owners.
  void count(std::span<const std::byte> message);

 private:
  std::uint64_t there_ = 0;
};

}  // namespace rashpa::publisher
