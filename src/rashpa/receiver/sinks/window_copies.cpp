// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/sinks/window_copies.hpp"

#include <algorithm>
#include <cstring>

namespace rashpa::receiver {

WindowCopies::WindowCopies(const std::vector<Accumulation>& accumulations, std::uint32_t stacks)
    : accumulations_(accumulations), carriers_(accumulations.empty() ? 0 : stacks), free_(stacks) {
  for (std::size_t a = 0; a < accumulations_.size(); ++a) {
    values_[a].resize((carriers_.size() + 1) * accumulations_[a].bytes());
  }
  for (std::uint32_t place = 0; place < carriers_.size(); ++place) {
    carriers_[place].slot = place;
    free_.push_must(place);
  }
}

const Stack* WindowCopies::take(const Stack& stack) noexcept {
  std::uint32_t place = 0;
  if (!free_.try_pop(place)) return nullptr;
  Stack& carrier = carriers_[place];
  carrier.number = stack.number;
  carrier.accumulated = copy(stack.accumulated, place);
  return &carrier;
}

void WindowCopies::give_back(const Stack& carrier) noexcept { free_.push_must(carrier.slot); }

Accumulated WindowCopies::copy(const Accumulated& from, std::size_t place) noexcept {
  Accumulated copied = from;
  for (std::size_t a = 0; a < accumulations_.size(); ++a) {
    if (!from[a].ended()) continue;
    std::byte* to = values_[a].data() + place * accumulations_[a].bytes();
    for (std::size_t q = 0; q < accumulations_[a].quantities.size(); ++q) {
      const std::size_t bytes = accumulations_[a].elements() * bytes_of(accumulations_[a].quantities[q].type);
      std::memcpy(to, from[a].values[q], bytes);
      copied[a].values[q] = to;
      to += bytes;
    }
  }
  return copied;
}

bool carries_windows(const Stack& stack) noexcept {
  return std::any_of(stack.accumulated.begin(), stack.accumulated.end(),
                     [](const AccumulatedView& window) { return window.ended(); });
}

}  // namespace rashpa::receiver
