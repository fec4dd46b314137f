// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/section_keys.hpp"

#include <fmt/format.h>

#include "rashpa/core/parameter.hpp"

namespace rashpa::emulator {

std::string sections_json() {
  return fmt::format("{{\n  \"run\": {},\n  \"faults\": {},\n  \"group\": {}\n}}\n",
                     json_of(run_parameters().declared()), json_of(fault_parameters().declared()),
                     json_of(group_parameters().declared()));
}

}  // namespace rashpa::emulator
