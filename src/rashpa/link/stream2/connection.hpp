// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/link/stream2/buffer.hpp"
#include "rashpa/link/stream2/options.hpp"
#include "rashpa/link/stream2/zmtp.hpp"

namespace rashpa::link::stream2 {

/// The address of a sender, as the socket calls want it.
struct SenderAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};
/// Throws ConfigError for no address, ResourceError for a name that nobody knows. It may wait for a name server.
SenderAddress resolve(const Place& place);

/// A connection to a sender's socket. It is made again when it is lost, and never waits. One thread.
class Connection {
 public:
  enum class Got : std::uint8_t {
    nothing,  ///< for now
    message,  ///< buffer() has one, until next()
    refused,  ///< something that breaks a bound; the connection is closed, and made again
    lost,     ///< the connection was, and is made again
  };

  /// `files`: epoll, in which the socket is while there is one. `most`: bytes of a message.
  Connection(int files, const SenderAddress& to, Pattern pattern, std::size_t most) noexcept
      : files_(files), to_(to), pattern_(pattern), most_(most) {}

  /// Reads what is there, up to a whole message.
  Got pump(std::int64_t now) noexcept;
  /// The whole message; the caller may exchange it for another buffer.
  [[nodiscard]] Buffer& buffer() noexcept { return buffer_; }
  /// The message is dealt with.
  void next() noexcept { buffer_.clear(); }
  /// Lets bytes that come wake nobody while it is held.
  void hold(bool held) noexcept;
  /// Returns true when nothing more lies in the socket, as far as was seen.
  [[nodiscard]] bool drained() const noexcept { return drained_; }

 private:
  enum class Stage : std::uint8_t { closed, connecting, greeting, head, body };
  void open(std::int64_t now) noexcept;
  Got close(Got why) noexcept;
  bool send(std::span<const std::byte> bytes) noexcept;
  /// Returns false when not all of them are there yet, or the connection has ended.
  bool fill(std::span<std::byte> room) noexcept;
  void watch(std::uint32_t events) noexcept;
  Got on_greeting() noexcept;
  Got on_head() noexcept;
  Got on_body() noexcept;

  int files_;
  SenderAddress to_;
  Pattern pattern_;
  std::size_t most_;
  FileDescriptor socket_;
  Stage stage_ = Stage::closed;
  std::int64_t again_ns_ = 0;  // when it is made again
  bool ended_ = false;         // the other side has closed, or there was an error
  bool drained_ = true;
  bool held_ = false;
  bool ready_ = false;  // the other side's READY has come
  std::array<std::byte, zmtp::kGreetingBytes> small_{};
  std::size_t filled_ = 0;
  zmtp::FrameHead head_{};
  Buffer buffer_;
};

}  // namespace rashpa::link::stream2
