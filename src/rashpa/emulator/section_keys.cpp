// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/section_keys.hpp"

#include <fmt/format.h>

#include "rashpa/core/parameter.hpp"

namespace rashpa::emulator {

const Parameters<RunKeys>& run_parameters() {
  static const auto declared = Parameters<RunKeys>("run");
  return declared;
}

const Parameters<FaultPlan>& fault_parameters() {
  static const auto declared =
      Parameters<FaultPlan>("faults")
          .add({.name = "drop", .doc = "packets that are not sent", .least = 0, .most = 1}, &FaultPlan::drop)
          .add({.name = "duplicate", .doc = "packets that are sent twice", .least = 0, .most = 1},
               &FaultPlan::duplicate)
          .add({.name = "reorder", .doc = "packets that are sent behind a later one", .least = 0, .most = 1},
               &FaultPlan::reorder)
          .add({.name = "corrupt", .doc = "packets of which a bit is changed", .least = 0, .most = 1},
               &FaultPlan::corrupt)
          .add({.name = "stall", .doc = "images before which a DTP pauses", .least = 0, .most = 1}, &FaultPlan::stall)
          .add({.name = "stall_us", .doc = "length of such a pause", .least = 0, .most = 60'000'000},
               &FaultPlan::stall_us);
  return declared;
}

const Parameters<Group>& group_parameters() {
  static const auto declared = Parameters<Group>("group").add(
      {.name = "response_ms",
       .doc = "a member that owes something and is silent for so long is given nothing more",
       .least = 1,
       .most = 600'000},
      &Group::response_ms);
  return declared;
}

std::string sections_json() {
  return fmt::format("{{\n  \"run\": {},\n  \"faults\": {},\n  \"group\": {}\n}}\n",
                     json_of(run_parameters().declared()), json_of(fault_parameters().declared()),
                     json_of(group_parameters().declared()));
}

}  // namespace rashpa::emulator
