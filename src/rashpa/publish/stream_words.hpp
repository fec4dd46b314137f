// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory that a sink shares with the process that sends its images. It has one message at a time, which the sink
/// offers and the child takes and answers, and the child's counts for each outlet. A message that is not taken in time
/// is withdrawn, so the sink waits only once for a stopped child.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rashpa::publish {

/// The kind of an outlet's socket for clients.
enum class Pattern : std::uint8_t {
  push,  ///< clients use PULL: each message goes to one of them, as with the vendor's streams
  pub,   ///< clients use SUB: each message goes to all of them, and slow ones lose some
};

inline constexpr std::size_t kMostOutlets = 64;

/// The sink's request.
enum class Ask : std::uint32_t {
  look,   ///< report the present state of the outlets
  start,  ///< keep this message as the start, which each new client gets first
  image,  ///< send this image to all clients that have the start; the answer is the number of outlets that took it
  end,    ///< send this end to one outlet; the answer is whether it took it
  leave,  ///< end, after the queued messages had time to leave
};

/// The state of the one message. Only the sink changes `free` and `answered`; for the other states, the first of both
/// sides that acts.
enum class Place : std::uint32_t { free, offered, taken, answered, withdrawn };

struct OutletWords {
  /// number of connected clients; relaxed like the next four, by the child, for the sink's status
  std::atomic<std::uint32_t> connected{0};
  std::atomic<std::uint32_t> started{0};  ///< 1: all connected clients have the start
  std::atomic<std::uint32_t> ready{0};    ///< 1: there was room at the last check
  std::atomic<std::uint64_t> sent{0};     ///< images sent
  std::atomic<std::uint64_t> missed{0};   ///< images that were requested and had no room
};

struct StreamWords {
  /// 1: a child runs and takes messages. The child stores it with release, the sink loads it with acquire.
  std::atomic<std::uint32_t> open{0};
  /// state of the message; acq_rel by sink and child in turn, for the words below and the message
  std::atomic<std::uint32_t> place{0};
  std::atomic<std::uint32_t> ask{0};
  std::atomic<std::uint32_t> outlet{0};
  std::atomic<std::uint32_t> answer{0};
  std::atomic<std::uint32_t> has_start{0};  ///< 1: this child has the start
  std::atomic<std::uint64_t> bytes{0};      ///< bytes of the message, which follows these words
  std::array<OutletWords, kMostOutlets> outlets{};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "words of two processes");

/// The name of the task. Its arguments are the pattern, the most messages that wait for a consumer, and the bytes
/// behind the words. The child's files are the words, then a listener for each outlet.
inline constexpr const char* kStreamTask = "stream2";

}  // namespace rashpa::publish
