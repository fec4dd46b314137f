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

/// The address of a sender in the form of socket calls.
struct SenderAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};
/// Resolves the address. Throws ConfigError when it is no address, ResourceError for an unknown name. It may wait for a
/// name server.
SenderAddress resolve(const Place& place);

/// A connection to a sender's socket. It reconnects after a loss, and never waits. One thread.
class Connection {
 public:
  enum class Got : std::uint8_t {
    nothing,  ///< no message yet
    message,  ///< buffer() has a message, until next()
    refused,  ///< a bound was exceeded; the connection is closed, and made again
    lost,     ///< the connection was lost, and is made again
  };

  /// Sets the parameters. `files` is the epoll file with the socket while it is open. `most` is the largest message in
  /// bytes.
  Connection(int files, const SenderAddress& to, Pattern pattern, std::size_t most) noexcept
      : files_(files), to_(to), pattern_(pattern), most_(most) {}

  /// Reads available bytes, up to one whole message.
  Got pump(std::int64_t now) noexcept;
  /// Returns the whole message; the caller may exchange it for another buffer.
  [[nodiscard]] Buffer& buffer() noexcept { return buffer_; }
  /// Discards the message, which was handled.
  void next() noexcept { buffer_.clear(); }
  /// Holds the connection, or releases it; while it is held, arriving bytes wake no thread.
  void hold(bool held) noexcept;
  /// Returns true when the socket had no more bytes at the last read.
  [[nodiscard]] bool drained() const noexcept { return drained_; }

 private:
  enum class Stage : std::uint8_t { closed, connecting, greeting, head, body };
  void open(std::int64_t now) noexcept;
  Got close(Got why) noexcept;
  bool send(std::span<const std::byte> bytes) noexcept;
  /// Fills `room`; returns false when bytes are still missing, or the connection has ended.
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
