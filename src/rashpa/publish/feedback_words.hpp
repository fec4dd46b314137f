// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory that a receiver shares with the process that publishes its feedback, besides the ring. A child process
/// writes, the parent reads; each new child continues from the counts of the last one.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rashpa/core/numbers/histogram.hpp"

namespace rashpa::publish {

struct FeedbackWords {
  /// next entry; relaxed like the three below, by the child, for the parent's status
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> sent{0};     ///< entries given to ZeroMQ
  std::atomic<std::uint64_t> dropped{0};  ///< entries that were overwritten before
  std::atomic<std::uint64_t> full{0};     ///< times that a subscriber's queue was full
  Histogram by_zmq{};                     ///< latency from the last packet of an image to ZeroMQ
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "words of two processes");

/// The files of the child, in this order.
enum class FeedbackFile : int { listener, ring, words, count };

/// The name of the task. Its arguments are the buffer's name, and the most messages that wait for a slow subscriber.
inline constexpr const char* kFeedbackTask = "feedback";

}  // namespace rashpa::publish
