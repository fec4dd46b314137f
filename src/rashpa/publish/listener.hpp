// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "rashpa/core/system/file_descriptor.hpp"

namespace rashpa::publish {

/// A listening TCP socket of the process that receives images. That process never accepts connections; the publishing
/// child does. So the port stays in use while one child dies and the next one starts, and clients that connect
/// meanwhile wait. Immutable; any thread.
class Listener {
 public:
  /// Listens at `endpoint`: tcp://ADDRESS:PORT, with an IPv4 address or an IPv6 one in brackets; port 0 means any free
  /// one. `what` is the prefix of messages. Throws ConfigError when the endpoint is invalid or not available.
  Listener(const std::string& endpoint, std::string_view what);
  /// Returns the endpoint for clients, with its actual port.
  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] int file() const noexcept { return file_.get(); }

 private:
  FileDescriptor file_;
  std::string endpoint_;
};

/// The parts of tcp://ADDRESS:PORT.
struct Endpoint {
  std::string address{};  ///< without brackets
  unsigned port = 0;
  bool v6 = false;
};
/// Splits an endpoint. Throws ConfigError.
[[nodiscard]] Endpoint endpoint_of(const std::string& text, std::string_view what);
[[nodiscard]] std::string text_of(const Endpoint& endpoint);

}  // namespace rashpa::publish
