// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/zmtp.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rashpa::link::stream2::zmtp {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Section "Connection" of rfc.zeromq.org/spec/23: signature, version 3.0, mechanism, as-server, filler.
TEST(Zmtp, the_greeting_is_that_of_the_specification) {
  std::string wanted("\xFF\0\0\0\0\0\0\0\0\x7F\3\0NULL", 16);
  wanted.resize(kGreetingBytes);
  const auto made = greeting();
  EXPECT_EQ(std::vector(made.begin(), made.end()), bytes_of(wanted));
  EXPECT_TRUE(understood(made));
}

TEST(Zmtp, a_greeting_of_another_protocol_version_or_mechanism_is_not_understood) {
  const struct {
    std::size_t at;
    std::byte value;
    bool good;
  } changes[] = {
      {0, std::byte{'G'}, false},                // "GET / HTTP"
      {9, std::byte{0x7E}, false},               // ZMTP 1
      {10, std::byte{2}, false},                 // ZMTP 2
      {10, std::byte{4}, true},                  // a later version, which understands this one
      {11, std::byte{1}, true},                  // 3.1
      {12, std::byte{'P'}, false},               // "PULL": no mechanism
      {12 + 4, std::byte{'2'}, false},           // "NULL2"
      {32, std::byte{1}, true},                  // as-server, which NULL does not look at
      {12 + 19, std::byte{'x'}, false},          // behind the zeros of the name
      {kGreetingBytes - 1, std::byte{7}, true},  // filler
  };
  for (const auto& change : changes) {
    auto changed = greeting();
    changed[change.at] = change.value;
    EXPECT_EQ(understood(changed), change.good) << "byte " << change.at;
  }
}

TEST(Zmtp, ready_and_the_subscription_are_whole_frames) {
  EXPECT_EQ(ready("PULL"), bytes_of(std::string_view("\4\x1A\5READY\x0BSocket-Type\0\0\0\4PULL", 28)));
  EXPECT_EQ(subscribe_to_all(), bytes_of(std::string_view("\0\1\1", 3)));
}

TEST(Zmtp, the_first_byte_of_a_frame_says_how_long_its_head_is) {
  for (unsigned flags = 0; flags < 256; ++flags) {
    const std::size_t wanted = flags > 7 ? 0 : (flags & 2U) != 0 ? 9 : 2;
    EXPECT_EQ(head_bytes(static_cast<std::byte>(flags)), wanted) << flags;
  }
}

TEST(Zmtp, a_head_is_read_as_it_was_written) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{255}, std::uint64_t{256}, ~std::uint64_t{0}}) {
    for (const bool more : {false, true}) {
      const auto head = long_head(bytes, more);
      ASSERT_EQ(head_bytes(head[0]), head.size());
      const FrameHead found = head_of(head);
      EXPECT_EQ(found.bytes, bytes);
      EXPECT_EQ(found.more, more);
      EXPECT_FALSE(found.command);
    }
  }
  const FrameHead shorter = head_of(bytes_of("\4\xC8"));
  EXPECT_TRUE(shorter.command);
  EXPECT_FALSE(shorter.more);
  EXPECT_EQ(shorter.bytes, 200U);
}

TEST(Zmtp, a_ping_gets_its_context_back_and_anything_else_gets_nothing) {
  EXPECT_EQ(pong(bytes_of(std::string_view("\4PING\0\1abc", 10))), bytes_of("\4\x08\4PONGabc"));
  EXPECT_EQ(pong(bytes_of(std::string_view("\4PING\0\1", 7))), bytes_of("\4\5\4PONG"));
  EXPECT_TRUE(pong(bytes_of(std::string_view("\4PING\0", 6))).empty()) << "without its time to live";
  EXPECT_TRUE(pong(bytes_of("\5READY..")).empty());
  EXPECT_TRUE(pong({}).empty());
  constexpr std::string_view kLongest("\4PING\0\1abcdefghijklmnop", 23), kTooLong("\4PING\0\1abcdefghijklmnopq", 24);
  EXPECT_EQ(pong(bytes_of(kLongest)).size(), 2U + 5U + 16U);
  EXPECT_TRUE(pong(bytes_of(kTooLong)).empty()) << "a context has 16 bytes at most";
}

}  // namespace
}  // namespace rashpa::link::stream2::zmtp
