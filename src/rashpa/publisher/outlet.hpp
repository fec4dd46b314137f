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

/// A message of one part that any number of sockets send without copying it.
class Message {
 public:
  /// A copy of `whole`, which all sockets share.
  Message(const ZeromqLibrary& zeromq, std::span<const std::byte> whole);
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  /// Returns false when the socket has no room, or nobody is connected.
  [[nodiscard]] bool send(void* socket) const noexcept;

 private:
  const ZeromqLibrary& zeromq_;
  mutable ZeromqMessage message_{};
};

/// The fate of an image at an outlet.
struct SentTo {
  bool somebody = false;  ///< a queue has taken it
  bool all = false;       ///< nobody lacked it
};

/// One socket that consumers connect to, with a queue of its own; nothing here waits for them. One thread.
class Outlet {
 public:
  /// `listener`: a socket that listens, not taken over. `room`: messages that wait for a consumer. `number`: by which a
  /// Door of the context knows it. `most`: connections at a time. Throws ResourceError.
  Outlet(const ZeromqLibrary& zeromq, void* context, int listener, Pattern pattern, int room, std::size_t number,
         unsigned most);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  /// Sees arrivals and departures. Throws ResourceError when strangers subscribe to too much.
  void look();
  /// The door has let somebody in: waits a moment until that one is connected.
  void let_in();
  /// Returns true when a consumer lacks the start of the series.
  [[nodiscard]] bool owes_start() const noexcept { return !started_; }
  /// Returns true when somebody is connected, and there is room: a message is worth making.
  [[nodiscard]] bool ready() const noexcept;
  [[nodiscard]] bool is_connected() const noexcept;
  [[nodiscard]] unsigned connected() const noexcept;
  /// Sockets that have something to read when look() has something to see.
  [[nodiscard]] std::array<void*, 2> watched() const noexcept { return {entrance_->monitor(), subscriptions_socket()}; }

  /// Sends the start to all connected consumers. Returns true when it was sent.
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
