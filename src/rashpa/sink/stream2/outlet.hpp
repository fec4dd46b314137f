// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rashpa/core/zeromq.hpp"
#include "rashpa/sink/chunk_board.hpp"
#include "rashpa/sink/sink.hpp"

namespace rashpa::sink::stream2 {

/// How clients connect to an outlet.
enum class Pattern : std::uint8_t {
  push,  ///< PULL: each message goes to one of them; the vendor's way
  pub,   ///< SUB: each message goes to all of them, and who is slow loses some
};

/// A message of one part that any number of sockets send without copying it.
class Message {
 public:
  /// `head` and, behind it, the chunk, which lies in memory with room before it. Copies the chunk only when somebody
  /// else has it, or the head does not fit.
  Message(const ZeromqLibrary& zeromq, std::span<const std::byte> head, ChunkRef chunk);
  Message(const ZeromqLibrary& zeromq, std::span<const std::byte> whole);
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  /// False: the socket has no room, or nobody is connected.
  [[nodiscard]] bool send(void* socket) const noexcept;

 private:
  const ZeromqLibrary& zeromq_;
  mutable ZeromqMessage message_{};
};

/// One socket that consumers connect to, with a queue and counts of its own; nothing here waits for them. One thread,
/// but for status().
class Outlet {
 public:
  /// `endpoint`: tcp://ADDRESS:PORT, port 0 for any free one. `room`: messages that wait for a consumer. `number`: by
  /// which a Door of the context knows it. Throws ConfigError when it cannot be bound.
  Outlet(const ZeromqLibrary& zeromq, void* context, const std::string& endpoint, Pattern pattern, int room,
         std::size_t number);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  /// Sees who has come and gone.
  void look() noexcept;
  /// The door has let somebody in: waits a moment until that one is connected.
  void let_in() noexcept;
  /// Somebody has come who has not been sent the start of the series.
  [[nodiscard]] bool owes_start() const noexcept { return !started_; }
  /// Somebody is connected, and there is room: worth making a message for.
  [[nodiscard]] bool ready() const noexcept;
  [[nodiscard]] bool is_connected() const noexcept { return peers_ > 0; }

  /// To everybody who is connected.
  bool send_start(const Message& message) noexcept;
  /// An image; counted as sent or missed.
  bool send_image(const Message& message) noexcept;
  /// An image for which no message was made.
  void miss_image() noexcept { missed_.fetch_add(1, std::memory_order_relaxed); }
  bool send_end(const Message& message) noexcept { return message.send(socket_); }

  /// Any thread.
  [[nodiscard]] ConsumerStatus status() const;

 private:
  void bind(const std::string& endpoint);
  void read_subscriptions() noexcept;
  void read_monitor() noexcept;
  void came() noexcept;
  void went() noexcept;
  void apply(int option, std::span<const std::byte> topic) noexcept {
    zeromq_.setsockopt(socket_, option, topic.data(), topic.size());
  }
  void set(int option, int value) noexcept { zeromq_.setsockopt(socket_, option, &value, sizeof value); }

  const ZeromqLibrary& zeromq_;
  Pattern pattern_;
  void* socket_ = nullptr;
  void* monitor_ = nullptr;  // of push: an XPUB socket tells by itself
  std::string endpoint_;
  bool started_ = false;
  bool failed_ = false;        // a handshake has, and its connection is about to end
  std::uint64_t settled_ = 0;  // handshakes that are over
  std::atomic<int> peers_{0};
  std::atomic<std::uint64_t> sent_{0}, missed_{0};
};

}  // namespace rashpa::sink::stream2
