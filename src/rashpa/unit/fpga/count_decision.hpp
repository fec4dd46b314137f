// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "rashpa/card/unit_card.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::fpga {

/// The decision on images from the counts of a card. Of the steps after the conversion, it covers the one that counts
/// and the one that lists marked pixels. It knows no card.
class CountDecision {
 public:
  /// Creates the decision. `steps` outlives it; it was checked and begins with a conversion.
  explicit CountDecision(const Steps& steps);
  /// Returns true when a step makes lists.
  [[nodiscard]] bool lists() const noexcept { return list_ != nullptr; }
  /// Returns true when step `step` is the step that counts.
  [[nodiscard]] bool counts(std::size_t step) const noexcept { return count_ == &steps_.steps[step]; }
  /// Sets new limits of the count for all later calls of settle(). The thread of settle() calls it.
  void adopt(const kernel::CountTap& tap) noexcept { tap_ = tap; }
  /// Fills in results and decision of an image, except for its pixels and its list.
  void settle(StackImage& image, const card::UnitCounts& counts) const noexcept;

 private:
  const Steps& steps_;
  const PlannedStep* count_;  // of the steps; null: there is none
  const PlannedStep* list_;
  kernel::CountTap tap_;  // as the step's at the start
};

}  // namespace rashpa::unit::fpga
