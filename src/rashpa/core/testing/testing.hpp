// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Waits of tests for a condition. A test fails with the condition's text when the condition stays false.
/// tools/check_waits.py allows no other waits; a test about time itself has a comment `wait: <reason>`.
#include <gtest/gtest.h>

#include <chrono>
#include <string_view>
#include <thread>

namespace rashpa {

/// The longest wait of a test: enough for a loaded machine and sanitizers, and below the 120 s that ctest gives a
/// program.
inline constexpr std::chrono::seconds kPatienceOfTests{60};

/// Returns success as soon as `condition()` is true, and a failure that names `text` when it stays false for
/// `patience`.
template <typename Condition>
::testing::AssertionResult eventually(Condition&& condition, std::string_view text,
                                      std::chrono::nanoseconds patience = kPatienceOfTests) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kBusy = std::chrono::milliseconds(1);
  const Clock::time_point start = Clock::now();
  for (;;) {
    if (condition()) return ::testing::AssertionSuccess();
    const std::chrono::nanoseconds waited = Clock::now() - start;
    if (waited > patience) break;
    // A hand-over between two threads takes microseconds; a longer wait yields the processor.
    if (waited < kBusy) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  return ::testing::AssertionFailure() << "`" << text << "` did not come true within "
                                       << std::chrono::duration_cast<std::chrono::milliseconds>(patience).count()
                                       << " ms";
}

}  // namespace rashpa

/// Waits until the expression is true, and fails the test otherwise. Any thread of a test may use it. ASSERT_EVENTUALLY
/// also returns from the function on failure.
#define EXPECT_EVENTUALLY(...) \
  EXPECT_TRUE(::rashpa::eventually([&] { return static_cast<bool>(__VA_ARGS__); }, #__VA_ARGS__))
#define ASSERT_EVENTUALLY(...) \
  ASSERT_TRUE(::rashpa::eventually([&] { return static_cast<bool>(__VA_ARGS__); }, #__VA_ARGS__))
