// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rashpa/core/libraries/zeromq.hpp"
#include "rashpa/publisher/entrance.hpp"

namespace rashpa::publisher {

/// A socket that publishes: a subscriber gets the messages from then on, and the socket waits for none. One thread.
class PubSocket {
 public:
  /// `listener`: a socket that listens, not taken over. `room`: messages that wait for a slow subscriber. Throws
  /// ResourceError.
  PubSocket(const ZeromqLibrary& zeromq, int listener, int room);
  ~PubSocket();
  PubSocket(const PubSocket&) = delete;
  PubSocket& operator=(const PubSocket&) = delete;

  /// Sees newcomers and their subscriptions. Throws ResourceError when that is too much.
  void look();
  /// One message of several parts; it is not waited for. False: a subscriber has no room, and from this message on gets
  /// none until it has read half of those that wait for it; all others get theirs.
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
