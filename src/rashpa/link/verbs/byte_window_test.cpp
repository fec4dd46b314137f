#include "rashpa/link/verbs/byte_window.hpp"

#include <gtest/gtest.h>

namespace rashpa::link::verbs {
namespace {

TEST(ByteWindow, a_window_of_zero_is_always_open) {
  ByteWindow window(0, 1000, 0);
  window.sent(1'000'000'000);
  EXPECT_TRUE(window.open(1, 0));
  EXPECT_FALSE(window.look(0, 1'000'000'000));
}

TEST(ByteWindow, it_closes_when_full_and_opens_as_bytes_are_acknowledged) {
  ByteWindow window(100, 1000, 0);
  window.sent(60);
  EXPECT_TRUE(window.open(40, 0));
  EXPECT_FALSE(window.open(41, 0));
  EXPECT_TRUE(window.open(41, 1));
}

TEST(ByteWindow, one_message_larger_than_the_window_goes_when_nothing_flies) {
  ByteWindow window(100, 1000, 0);
  EXPECT_TRUE(window.open(500, 0));
  window.sent(500);
  EXPECT_FALSE(window.open(1, 0));
  EXPECT_TRUE(window.open(500, 500));
}

TEST(ByteWindow, bytes_nobody_speaks_of_are_written_off_after_the_timeout_and_once_only) {
  ByteWindow window(100, 1000, 0);
  window.sent(100);
  EXPECT_FALSE(window.look(0, 999'999));
  EXPECT_FALSE(window.open(1, 0));
  EXPECT_TRUE(window.look(0, 1'000'000));
  EXPECT_TRUE(window.open(100, 0));
  window.sent(100);
  // All come after all: what was written off must not hold the window open any longer.
  EXPECT_FALSE(window.look(200, 1'100'000));
  window.sent(100);
  EXPECT_FALSE(window.open(1, 200));
}

}  // namespace
}  // namespace rashpa::link::verbs
