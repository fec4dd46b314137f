// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/link.hpp"

namespace rashpa::link {

/// Bounds credit words, which another process writes and which may have any value. A word counts for at most the images
/// announced plus the receiver's slots, and never takes back a grant. The DTP's thread uses it.
class CreditBound {
 public:
  /// Creates the bound. `slots` are the receiver's; 0: unknown, and nothing is bounded. `refused` counts impossible
  /// words. It also counts words of a receiver that gave up images before they were announced, and late credit packets.
  /// `events` are those of an image.
  CreditBound(std::uint64_t slots, Counter& refused, std::uint32_t events = 1) noexcept
      : slots_(slots), events_(events), refused_(&refused) {}

  /// Records that the event with `immediate` was sent, which announces its image and all earlier ones.
  void announce(std::uint32_t immediate) noexcept { announced_ += (immediate - (announced_ - 1)) & kIndexMask; }
  /// Returns the number of images up to the latest event, with one whose parts have begun.
  [[nodiscard]] std::uint64_t announced() const noexcept { return (announced_ + events_ - 1) / events_; }
  /// Returns the images granted when the other side's word is `word`.
  std::uint64_t granted(std::uint64_t word) noexcept {
    const std::uint64_t most = slots_ == 0 ? kUnlimited : announced() + slots_;
    if (word != word_) {
      word_ = word;
      if (word < granted_ || word > most) refused_->add(1);
    }
    return granted_ = std::max(granted_, std::min(word, most));
  }

 private:
  static constexpr std::uint32_t kIndexMask = 0xFFFFFF;  // of an immediate
  std::uint64_t slots_;
  std::uint32_t events_;
  Counter* refused_;
  std::uint64_t announced_ = 0;  // events
  std::uint64_t granted_ = 0;
  std::uint64_t word_ = 0;  // at the last look
};

}  // namespace rashpa::link
