// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/link.hpp"

namespace rashpa::link {

/// Bounds words of credits. Somebody else has written them into memory, or packets, and they may have any value. A word
/// never counts for more images than the receiver can have room for, which are those announced and as many as it has
/// slots, and takes back nothing that was granted. Used by the DTP's thread.
class CreditBound {
 public:
  /// `slots` of the receiver; 0: nobody knows, and nothing is bounded. `refused` counts words that cannot be. A
  /// receiver that has given up images before they were announced says more than can be known here, and is counted,
  /// too; so is, where words come in packets, one that was late.
  CreditBound(std::uint64_t slots, Counter& refused) noexcept : slots_(slots), refused_(&refused) {}

  /// An event was sent: its image and all before are announced.
  void announce(std::uint32_t immediate) noexcept { announced_ += (immediate - (announced_ - 1)) & kIndexMask; }
  /// Images up to the latest event.
  [[nodiscard]] std::uint64_t announced() const noexcept { return announced_; }
  /// Images granted, where the other side's word is this now.
  std::uint64_t granted(std::uint64_t word) noexcept {
    const std::uint64_t most = slots_ == 0 ? kUnlimited : announced_ + slots_;
    if (word != word_) {
      word_ = word;
      if (word < granted_ || word > most) refused_->add(1);
    }
    return granted_ = std::max(granted_, std::min(word, most));
  }

 private:
  static constexpr std::uint32_t kIndexMask = 0xFFFFFF;  // of an immediate
  std::uint64_t slots_;
  Counter* refused_;
  std::uint64_t announced_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t word_ = 0;  // at the last look
};

}  // namespace rashpa::link
