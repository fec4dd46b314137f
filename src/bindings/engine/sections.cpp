// SPDX-License-Identifier: Apache-2.0
/// The declared keys of the run file's sections, of both engines.
#include <nanobind/stl/string.h>

#include "bindings/bindings.hpp"
#include "rashpa/core/parameter.hpp"
#include "rashpa/emulator/section_keys.hpp"
#include "rashpa/receiver/config.hpp"

namespace rashpa::bindings {

void bind_sections(nanobind::module_& m) {
  m.def("sections_json", [] {
    return sections_json({{"run", emulator::run_parameters().declared()},
                          {"faults", emulator::fault_parameters().declared()},
                          {"group", emulator::group_parameters().declared()},
                          {"reduction", emulator::reduction_parameters().declared()},
                          {"buffer", receiver::buffer_parameters().declared()}});
  });
}

}  // namespace rashpa::bindings
