// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "rashpa/core/zeromq.hpp"

namespace rashpa::feedback {

/// A PUB socket: whoever subscribes gets what is sent from then on, and nobody is waited for. Constructor and close()
/// by any thread, one at a time; the rest by one thread.
class PubSocket {
 public:
  /// `endpoint`: tcp://ADDRESS:PORT, port 0 for any free one. `room`: messages that wait for a slow subscriber. Throws
  /// ConfigError when it is none, or cannot be had.
  PubSocket(const std::string& endpoint, int room);
  ~PubSocket();
  PubSocket(const PubSocket&) = delete;
  PubSocket& operator=(const PubSocket&) = delete;

  /// What others connect to.
  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }
  /// One message of several parts; it is not waited for. False: a subscriber has no room, and from this message on gets
  /// none until it has read half of those that wait for it; all others get theirs.
  bool send(std::span<const std::span<const std::byte>> parts) noexcept;

 private:
  void keep_all(bool keep) noexcept;
  ZeromqLibrary zeromq_;
  void* context_ = nullptr;
  void* socket_ = nullptr;
  std::string endpoint_;
};

}  // namespace rashpa::feedback
