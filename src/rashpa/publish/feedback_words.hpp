// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common memory of a receiver and the process that publishes its feedback, besides the ring. A child writes, the
/// parent reads; the next child goes on from the counts of the last.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rashpa/core/numbers/histogram.hpp"

namespace rashpa::publish {

struct FeedbackWords {
  std::atomic<std::uint64_t> next{0};     ///< the entry that comes next; relaxed, these four, for a status
  std::atomic<std::uint64_t> sent{0};     ///< entries given to ZeroMQ
  std::atomic<std::uint64_t> dropped{0};  ///< entries that were written over before
  std::atomic<std::uint64_t> full{0};     ///< times that a subscriber had no room
  Histogram by_zmq{};                     ///< last packet of an image → ZeroMQ has it
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "words of two processes");

/// Files of the child's, in this order.
enum class FeedbackFile : int { listener, ring, words, count };

/// Name of the task; its arguments: the buffer's name, and messages that wait for a slow subscriber.
inline constexpr const char* kFeedbackTask = "feedback";

}  // namespace rashpa::publish
