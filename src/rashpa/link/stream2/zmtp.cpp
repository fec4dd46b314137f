// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/zmtp.hpp"

#include <algorithm>

namespace rashpa::link::stream2::zmtp {

namespace {

constexpr unsigned kMore = 1, kLong = 2, kCommand = 4;
constexpr std::size_t kMechanismAt = 12;
constexpr std::string_view kNull("NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
constexpr std::string_view kPing = "\4PING", kPong = "\4PONG";
constexpr std::size_t kTtlBytes = 2;

void add(std::vector<std::byte>& out, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

bool begins_with(std::span<const std::byte> bytes, std::string_view text) noexcept {
  const auto wanted = std::as_bytes(std::span(text));
  return bytes.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), bytes.begin());
}

// A short command frame.
std::vector<std::byte> command(std::span<const std::byte> body) {
  std::vector<std::byte> out(2 + body.size());
  out[0] = static_cast<std::byte>(kCommand);
  out[1] = static_cast<std::byte>(body.size());
  std::copy(body.begin(), body.end(), out.begin() + 2);
  return out;
}

void add_property(std::vector<std::byte>& out, std::string_view name, std::string_view value) {
  out.push_back(static_cast<std::byte>(name.size()));
  add(out, name);
  for (int i = 0; i < 3; ++i) out.push_back(std::byte{0});
  out.push_back(static_cast<std::byte>(value.size()));
  add(out, value);
}

}  // namespace

std::array<std::byte, kGreetingBytes> greeting() noexcept {
  std::array<std::byte, kGreetingBytes> out{};
  out[0] = std::byte{0xFF};
  out[9] = std::byte{0x7F};
  out[10] = std::byte{3};
  const auto mechanism = std::as_bytes(std::span(kNull));
  std::copy(mechanism.begin(), mechanism.end(), out.begin() + kMechanismAt);
  return out;
}

bool understood(std::span<const std::byte, kGreetingBytes> greeting) noexcept {
  constexpr std::byte kVersion{3};
  return greeting[0] == std::byte{0xFF} && (greeting[9] & std::byte{1}) == std::byte{1} && greeting[10] >= kVersion &&
         begins_with(greeting.subspan(kMechanismAt), kNull);
}

std::vector<std::byte> ready(std::string_view socket_type) {
  std::vector<std::byte> body;
  add(body, "\5READY");
  add_property(body, "Socket-Type", socket_type);
  return command(body);
}

std::vector<std::byte> subscribe_to_all() { return {std::byte{0}, std::byte{1}, std::byte{1}}; }

std::size_t head_bytes(std::byte first) noexcept {
  const auto flags = std::to_integer<unsigned>(first);
  if ((flags & ~(kMore | kLong | kCommand)) != 0) return 0;
  return (flags & kLong) != 0 ? kLongestHead : 2;
}

FrameHead head_of(std::span<const std::byte> head) noexcept {
  const auto flags = std::to_integer<unsigned>(head[0]);
  FrameHead out{.more = (flags & kMore) != 0, .command = (flags & kCommand) != 0};
  for (const std::byte part : head.subspan(1)) out.bytes = out.bytes << 8U | std::to_integer<std::uint64_t>(part);
  return out;
}

std::array<std::byte, kLongestHead> long_head(std::uint64_t bytes, bool more) noexcept {
  std::array<std::byte, kLongestHead> out{static_cast<std::byte>(kLong | (more ? kMore : 0U))};
  for (std::size_t i = 0; i < 8; ++i) out[1 + i] = static_cast<std::byte>(bytes >> (8 * (7 - i)));
  return out;
}

std::vector<std::byte> pong(std::span<const std::byte> ping) {
  if (!begins_with(ping, kPing) || ping.size() < kPing.size() + kTtlBytes) return {};
  std::vector<std::byte> body;
  add(body, kPong);
  const auto context = ping.subspan(kPing.size() + kTtlBytes);
  if (context.size() > 16) return {};
  body.insert(body.end(), context.begin(), context.end());
  return command(body);
}

}  // namespace rashpa::link::stream2::zmtp
