// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/unit.hpp"

#include <fmt/format.h>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/unit/factory.hpp"

namespace rashpa::unit {

Accumulated concluded(Unit& unit) noexcept {
  auto* const accumulating = able<Accumulating>(unit);
  return accumulating == nullptr ? Accumulated{} : accumulating->conclude();
}

std::size_t device_bytes_of(const Unit& unit) noexcept {
  const auto* const on_device = able<const OnDevice>(unit);
  return on_device == nullptr ? 0 : on_device->device_bytes();
}

ReadyLimits ready(Unit& unit, std::size_t step, const kernel::StepOf& with) {
  auto* const adjusting = able<Adjusting>(unit);
  if (adjusting == nullptr) {
    throw StateError(
        fmt::format("unit: limits of vetoes are fixed from its start on ({}); start another run, or use one of the "
                    "units {}",
                    unit.how(), fmt::join(kind_names(), ", ")));
  }
  return adjusting->ready(step, with);
}

std::uint64_t adjust(Unit& unit, std::size_t step, const kernel::StepOf& with) { return ready(unit, step, with)({}); }

std::string notice_of(const Unit& unit) {
  const auto* const noticing = able<const Noticing>(unit);
  return noticing == nullptr ? std::string() : noticing->notice();
}

}  // namespace rashpa::unit
