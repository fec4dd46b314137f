// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/fpga/count_decision.hpp"

#include <algorithm>

namespace rashpa::unit::fpga {

namespace {

/// The step that counts on the way, or the one that makes a list of its marks: one of each at most, since the
/// conversion has one of each to offer.
const PlannedStep* found(const Steps& steps, bool list) {
  const auto step = std::find_if(steps.steps.begin(), steps.steps.end(), [list](const PlannedStep& one) {
    return list ? one.makes_list : one.rides.has_value();
  });
  return step == steps.steps.end() ? nullptr : &*step;
}

}  // namespace

CountDecision::CountDecision(const Steps& steps)
    : steps_(steps),
      count_(found(steps, false)),
      list_(found(steps, true)),
      tap_(count_ != nullptr ? *count_->rides : kernel::CountTap{}) {}

void CountDecision::settle(StackImage& image, const card::UnitCounts& counts) const noexcept {
  image.measured = true;
  const PlannedStep& conversion = steps_.steps.front();
  image.scalars[conversion.first_column] = Scalar::of_count(counts.masked);
  image.scalars[conversion.first_column + 1] = Scalar::of_count(counts.saturated);
  image.decision = Decision::accepted;
  if (count_ != nullptr) {
    image.scalars[count_->first_column] = Scalar::of_count(counts.bright);
    if (const std::uint8_t verdict = tap_.verdict(counts.bright); verdict != 0) {
      image.decision = Decision::vetoed;
      image.reason = count_->reasons[verdict - 1U];
      return;
    }
  }
  if (list_ != nullptr && counts.listed > steps_.output.list_capacity) {
    image.decision = Decision::errored;
    image.failed_in = static_cast<std::uint8_t>(list_ - steps_.steps.data() + 1);
  }
}

}  // namespace rashpa::unit::fpga
