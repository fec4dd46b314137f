// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "rashpa/card/unit_card.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::fpga {

/// The decision on images by the counts that a card has made from them: of the steps behind the conversion, the one
/// that counts on its way and the one that lists marked pixels. Knows no card.
class CountDecision {
 public:
  /// `steps` outlives it: checked, a conversion first.
  explicit CountDecision(const Steps& steps);
  /// Returns true when a step makes lists.
  [[nodiscard]] bool lists() const noexcept { return list_ != nullptr; }
  /// Returns true when step `step` is the one that counts.
  [[nodiscard]] bool counts(std::size_t step) const noexcept { return count_ == &steps_.steps[step]; }
  /// Takes other limits of the count, for every settle() from now on. Its thread.
  void adopt(const kernel::CountTap& tap) noexcept { tap_ = tap; }
  /// Fills results and fate of an image, but for its pixels and its list.
  void settle(StackImage& image, const card::UnitCounts& counts) const noexcept;

 private:
  const Steps& steps_;
  const PlannedStep* count_;  // of the steps; null: there is none
  const PlannedStep* list_;
  kernel::CountTap tap_;  // as the step's at the start
};

}  // namespace rashpa::unit::fpga
