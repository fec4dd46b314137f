// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rashpa/core/libraries/zeromq.hpp"
#include "rashpa/publisher/entrance.hpp"

namespace rashpa::publisher {

/// A publishing socket: subscribers get all messages from their subscription on, and the socket waits for none. One
/// thread.
class PubSocket {
 public:
  /// Opens the socket. `listener` is a listening socket, which stays the caller's. `room` is the most messages that
  /// wait for a slow subscriber. Throws ResourceError.
  PubSocket(const ZeromqLibrary& zeromq, int listener, int room);
  ~PubSocket();
  PubSocket(const PubSocket&) = delete;
  PubSocket& operator=(const PubSocket&) = delete;

  /// Handles new subscribers and their subscriptions. Throws ResourceError when there are too many.
  void look();
  /// Sends one message of several parts without waiting. Returns false when a subscriber has no room. That subscriber
  /// gets no messages until it has read half of its queue; all others get theirs.
  bool send(std::span<const std::span<const std::byte>> parts) noexcept;

 private:
  void keep_all(bool keep) noexcept;
  void hang_up() noexcept;
  const ZeromqLibrary& zeromq_;
  void* context_ = nullptr;
  void* socket_ = nullptr;
  std::unique_ptr<Entrance> entrance_;
  Subscriptions subscriptions_;
};

}  // namespace rashpa::publisher
