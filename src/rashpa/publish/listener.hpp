// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "rashpa/core/system/file_descriptor.hpp"

namespace rashpa::publish {

/// A TCP socket that listens. It belongs to the process that receives images, which never accepts anybody: the child
/// that publishes does. So the port stays taken while one child dies and the next one begins; a client that connects
/// then waits. Immutable; any thread.
class Listener {
 public:
  /// `endpoint`: tcp://ADDRESS:PORT, an IPv4 address or an IPv6 one in brackets; port 0 for any free one. `what`:
  /// begins messages. Throws ConfigError when it is none, or cannot be had.
  Listener(const std::string& endpoint, std::string_view what);
  /// The endpoint for others, with its actual port.
  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] int file() const noexcept { return file_.get(); }

 private:
  FileDescriptor file_;
  std::string endpoint_;
};

/// Parts of tcp://ADDRESS:PORT.
struct Endpoint {
  std::string address{};  ///< without brackets
  unsigned port = 0;
  bool v6 = false;
};
/// Throws ConfigError.
[[nodiscard]] Endpoint endpoint_of(const std::string& text, std::string_view what);
[[nodiscard]] std::string text_of(const Endpoint& endpoint);

}  // namespace rashpa::publish
