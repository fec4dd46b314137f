// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/link/stream2/zmtp.hpp"
#include "rashpa/wire/address.hpp"

namespace rashpa::link::stream2 {

/// The socket of a sender that pushes to one client, the one that connected last. It never waits. One thread.
class Outlet {
 public:
  /// Listens at any free port. Throws ConfigError or ResourceError.
  explicit Outlet(const std::string& address);

  [[nodiscard]] const wire::Address& local() const noexcept { return local_; }
  /// Sends as much of a message as there is room for, if a client is connected. Returns true when all of it was sent.
  /// When a client is lost midway, the next client gets the whole message. `more`: it is a frame, and others follow.
  bool send(std::span<const std::byte> message, bool more = false) noexcept;

 private:
  enum class Stage : std::uint8_t { nobody, greeting, ready };
  void look() noexcept;
  void drop() noexcept;
  bool write(std::span<const std::byte> bytes) noexcept;

  FileDescriptor listener_;
  FileDescriptor client_;
  wire::Address local_;
  Stage stage_ = Stage::nobody;
  std::array<std::byte, zmtp::kGreetingBytes> heard_{};
  std::size_t heard_bytes_ = 0;
  std::array<std::byte, zmtp::kLongestHead> head_{};
  std::size_t sent_ = 0;  // of head and message
};

}  // namespace rashpa::link::stream2
