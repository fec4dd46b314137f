// SPDX-License-Identifier: Apache-2.0
#pragma once
/// ZMTP 3, the protocol of ZeroMQ's sockets on TCP (rfc.zeromq.org/spec/23): greeting, READY, and frames. The mechanism
/// is NULL.
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

/// The greeting of this side.
std::array<std::byte, kGreetingBytes> greeting() noexcept;
/// Returns true when the other side's greeting is of version 3 with the mechanism NULL.
[[nodiscard]] bool understood(std::span<const std::byte, kGreetingBytes> greeting) noexcept;

/// The command READY of a socket of that type ("PULL"), as a whole frame.
std::vector<std::byte> ready(std::string_view socket_type);
/// The frame with which a subscriber asks for all messages.
std::vector<std::byte> subscribe_to_all();

struct FrameHead {
  bool more = false;
  bool command = false;
  std::uint64_t bytes = 0;
};
/// Bytes of the head of a frame, by its first one: 2 or 9. 0: it is none.
[[nodiscard]] std::size_t head_bytes(std::byte first) noexcept;
/// Reads a complete head of a frame.
[[nodiscard]] FrameHead head_of(std::span<const std::byte> head) noexcept;
/// The head of a frame of a message; its length goes to `bytes`.
std::array<std::byte, kLongestHead> long_head(std::uint64_t bytes, bool more) noexcept;

/// The answer to a PING (body of the command); empty: it is none.
std::vector<std::byte> pong(std::span<const std::byte> command);

}  // namespace rashpa::link::stream2::zmtp
