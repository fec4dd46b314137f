// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>

#include "rashpa/core/libraries/zeromq.hpp"
#include "rashpa/publisher/outlet.hpp"

namespace rashpa::publisher {

/// Lets consumers in one by one (ZeroMQ's authentication, RFC 27): an admitted consumer can be sent messages, and
/// before there is nothing of his that could take one. Made before the outlets of the same context, whose domains are
/// their numbers; one thread.
class Door {
 public:
  /// Throws ResourceError.
  Door(const ZeromqLibrary& zeromq, void* context);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// Lets newcomers in.
  void look(std::span<const std::unique_ptr<Outlet>> outlets);
  /// Has something to read when somebody comes.
  [[nodiscard]] void* socket() const noexcept { return socket_; }

 private:
  const ZeromqLibrary& zeromq_;
  void* socket_ = nullptr;
};

}  // namespace rashpa::publisher
