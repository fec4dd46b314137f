// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rashpa::transfer {

/// The state of a group's member, as far as the choice of the next image's member needs it.
struct Hand {
  bool can_take = false;
  bool open = false;             ///< true: it has begun a stack that is not full
  std::uint64_t unfinished = 0;  ///< images that it has not finished
  std::int64_t response_ns = 0;  ///< response time of a stack; 0: it has returned none yet
};

/// Chooses the member that gets the next image: the one with an open stack, else the one that will finish its images
/// first; of equals, the next in turn. It stores only the last turn. No thread, no lock, no memory.
class Chooser {
 public:
  /// Returns the number of a member below `members`; nothing: no member can take an image. `hand(number)` returns a
  /// member's Hand.
  template <typename Hands>
  [[nodiscard]] std::optional<std::size_t> choose(std::size_t members, const Hands& hand) const noexcept {
    if (const Hand own = hand(current_); own.can_take && own.open) return current_;
    std::optional<std::size_t> best;
    double least = 0;
    for (std::size_t step = 1; step <= members; ++step) {
      const std::size_t number = (current_ + step) % members;
      const Hand other = hand(number);
      if (!other.can_take) continue;
      const double cost = cost_of(other);
      if (!best || cost < least) {
        best = number;
        least = cost;
      }
    }
    return best;
  }
  /// Records that `member` got the image.
  void gave(std::size_t member) noexcept { current_ = member; }
  /// Restarts with the first member, when the last one has left.
  void restart() noexcept { current_ = 0; }

 private:
  static constexpr std::int64_t kUnknownResponseNs = 1'000'000;  // of a member that has given nothing back yet

  [[nodiscard]] static double cost_of(const Hand& hand) noexcept {
    if (hand.open) return -1.0;
    const std::int64_t response = hand.response_ns != 0 ? hand.response_ns : kUnknownResponseNs;
    return static_cast<double>(hand.unfinished) * static_cast<double>(response);
  }

  std::size_t current_ = 0;  // its hand is being filled
};

}  // namespace rashpa::transfer
