// SPDX-License-Identifier: Apache-2.0
#pragma once
/// ZMTP 3, the protocol of ZeroMQ's sockets on TCP (rfc.zeromq.org/spec/23): greeting, READY, and frames, with the
/// mechanism NULL.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rashpa::link::stream2::zmtp {

inline constexpr std::size_t kGreetingBytes = 64;
inline constexpr std::size_t kLongestHead = 9;
inline constexpr std::size_t kMostCommandBytes = 1024;

/// Returns the greeting of this side.
std::array<std::byte, kGreetingBytes> greeting() noexcept;
/// Returns true when the other side's greeting is of version 3 with the mechanism NULL.
[[nodiscard]] bool understood(std::span<const std::byte, kGreetingBytes> greeting) noexcept;

/// Returns the command READY of a socket type ("PULL"), as a whole frame.
std::vector<std::byte> ready(std::string_view socket_type);
/// Returns the frame by which a subscriber requests all messages.
std::vector<std::byte> subscribe_to_all();

struct FrameHead {
  bool more = false;
  bool command = false;
  std::uint64_t bytes = 0;
};
/// Returns the length of a frame's head, 2 or 9, from its first byte; 0: it is no head.
[[nodiscard]] std::size_t head_bytes(std::byte first) noexcept;
/// Reads a complete head of a frame.
[[nodiscard]] FrameHead head_of(std::span<const std::byte> head) noexcept;
/// Returns the head of a message frame of length `bytes`.
std::array<std::byte, kLongestHead> long_head(std::uint64_t bytes, bool more) noexcept;

/// Returns the answer to a PING (body of the command); empty when the command is none.
std::vector<std::byte> pong(std::span<const std::byte> command);

}  // namespace rashpa::link::stream2::zmtp
