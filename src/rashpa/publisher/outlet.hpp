// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rashpa/core/libraries/zeromq.hpp"
#include "rashpa/publish/stream_words.hpp"
#include "rashpa/publisher/entrance.hpp"

namespace rashpa::publisher {

using publish::Pattern;

/// A message of one part that any number of sockets can send without copying it.
class Message {
 public:
  /// Copies `whole` once, for all sockets.
  Message(const ZeromqLibrary& zeromq, std::span<const std::byte> whole);
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  /// Sends the message. Returns false when the socket has no room, or no consumer is connected.
  [[nodiscard]] bool send(void* socket) const noexcept;

 private:
  const ZeromqLibrary& zeromq_;
  mutable ZeromqMessage message_{};
};

/// The result of sending an image at an outlet.
struct SentTo {
  bool somebody = false;  ///< true: at least one queue has taken it
  bool all = false;       ///< true: all consumers got it
};

/// One socket to which consumers connect, with a queue for each; it never waits for them. One thread.
class Outlet {
 public:
  /// Opens the outlet. `listener` is a listening socket, which stays the caller's. `room` is the most messages that
  /// wait for a consumer, `most` the connections at a time. A Door of the context knows the outlet by `number`. Throws
  /// ResourceError.
  Outlet(const ZeromqLibrary& zeromq, void* context, int listener, Pattern pattern, int room, std::size_t number,
         unsigned most);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  /// Handles connections that began or ended. Throws ResourceError when clients subscribe to too much.
  void look();
  /// Waits a moment until the consumer that the door has admitted is connected.
  void let_in();
  /// Returns true when a consumer lacks the start of the series.
  [[nodiscard]] bool owes_start() const noexcept { return !started_; }
  /// Returns true when a consumer is connected and there is room, so that a message is worth making.
  [[nodiscard]] bool ready() const noexcept;
  [[nodiscard]] bool is_connected() const noexcept;
  [[nodiscard]] unsigned connected() const noexcept;
  /// Returns the sockets to poll; when one is readable, call look().
  [[nodiscard]] std::array<void*, 2> watched() const noexcept { return {entrance_->monitor(), subscriptions_socket()}; }

  /// Sends the start to all connected consumers; returns true when it was sent.
  bool send_start(const Message& message) noexcept;
  SentTo send_image(const Message& message) noexcept;
  bool send_end(const Message& message) noexcept { return message.send(socket_); }

 private:
  void read_subscriptions();
  void read_events() noexcept;
  [[nodiscard]] void* subscriptions_socket() const noexcept { return pattern_ == Pattern::pub ? socket_ : nullptr; }
  void came() noexcept;
  void went() noexcept;
  void apply(int option, std::span<const std::byte> topic) noexcept {
    zeromq_.setsockopt(socket_, option, topic.data(), topic.size());
  }
  void set(int option, int value) noexcept { zeromq_.setsockopt(socket_, option, &value, sizeof value); }

  const ZeromqLibrary& zeromq_;
  Pattern pattern_;
  void* socket_ = nullptr;
  std::unique_ptr<Entrance> entrance_;
  Subscriptions subscriptions_;
  bool started_ = false;
  bool failed_ = false;        // a handshake has, and its connection is about to end
  std::uint64_t settled_ = 0;  // handshakes that are over
  unsigned peers_ = 0;         // of pub: subscriptions, of which a stranger may take back what is not his
  bool subscribed_ = false;    // of pub: somebody has
};

}  // namespace rashpa::publisher
