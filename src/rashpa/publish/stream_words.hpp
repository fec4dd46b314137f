// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common memory of a sink and the process that sends its images: one message at a time, which the sink offers and
/// the child takes and answers, and the child's counts of each outlet. A message that is not taken in time is
/// withdrawn: a child that stands still is waited for once.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rashpa::publish {

/// Describes how clients connect to an outlet.
enum class Pattern : std::uint8_t {
  push,  ///< PULL: each message goes to one of them; the vendor's way
  pub,   ///< SUB: each message goes to all of them, and slow ones lose some
};

inline constexpr std::size_t kMostOutlets = 64;

/// The sink's request.
enum class Ask : std::uint32_t {
  look,   ///< how the outlets are now
  start,  ///< keep this: newcomers get it first
  image,  ///< to all that have the start; the answer: how many outlets took it
  end,    ///< to one outlet; the answer: whether it took it
  leave,  ///< nothing more comes: give what is queued its time, and end
};

/// Describes where the one message is. The sink alone leaves `free` and `answered`; of the others, the first one.
enum class Place : std::uint32_t { free, offered, taken, answered, withdrawn };

struct OutletWords {
  std::atomic<std::uint32_t> connected{0};  ///< how many are; relaxed, these five, for a status
  std::atomic<std::uint32_t> started{0};    ///< 1: all of them have the start
  std::atomic<std::uint32_t> ready{0};      ///< 1: there was room when it was looked last
  std::atomic<std::uint64_t> sent{0};       ///< images
  std::atomic<std::uint64_t> missed{0};     ///< images that were asked for and had no room
};

struct StreamWords {
  std::atomic<std::uint32_t> open{0};   ///< 1: a child is there and takes messages; it releases, the sink acquires
  std::atomic<std::uint32_t> place{0};  ///< acq_rel by sink and child in turn: the words below and the message
  std::atomic<std::uint32_t> ask{0};
  std::atomic<std::uint32_t> outlet{0};
  std::atomic<std::uint32_t> answer{0};
  std::atomic<std::uint32_t> has_start{0};  ///< 1: this child has got it
  std::atomic<std::uint64_t> bytes{0};      ///< of the message, which lies behind these words
  std::array<OutletWords, kMostOutlets> outlets{};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "words of two processes");

/// Name of the task; its arguments: pattern, messages that wait for a consumer, bytes behind the words. Files of the
/// child's: the words, then a listener for each outlet.
inline constexpr const char* kStreamTask = "stream2";

}  // namespace rashpa::publish
