// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>

#include "rashpa/core/libraries/zeromq.hpp"
#include "rashpa/publisher/outlet.hpp"

namespace rashpa::publisher {

/// Admits consumers one by one (ZeroMQ's authentication, RFC 27). Only an admitted consumer can be sent messages;
/// before, no queue exists that could take one for it. Made before the outlets of the same context, whose domains are
/// their numbers; one thread.
class Door {
 public:
  /// Opens the authentication socket. Throws ResourceError.
  Door(const ZeromqLibrary& zeromq, void* context);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// Admits new consumers.
  void look(std::span<const std::unique_ptr<Outlet>> outlets);
  /// Returns the socket to poll, which is readable when a consumer connects.
  [[nodiscard]] void* socket() const noexcept { return socket_; }

 private:
  const ZeromqLibrary& zeromq_;
  void* socket_ = nullptr;
};

}  // namespace rashpa::publisher
