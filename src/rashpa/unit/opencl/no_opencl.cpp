// SPDX-License-Identifier: Apache-2.0
/// Stands in for opencl_unit.cpp where the build leaves OpenCL out.
#include "rashpa/core/components.hpp"
#include "rashpa/unit/opencl/opencl_unit.hpp"

namespace rashpa::unit::opencl {

std::unique_ptr<Unit> make_unit(const Choice& /*choice*/, const Pipeline& /*pipeline*/, const Layout& /*layout*/,
                                Doorbell& /*done_bell*/) {
  throw_left_out("unit", "opencl", "use unit cpu");
}

Available available() { return {.name = "opencl", .usable = false, .what = left_out("opencl")}; }

std::vector<UnitDevice> devices() { return {}; }

}  // namespace rashpa::unit::opencl
