// SPDX-License-Identifier: Apache-2.0
/// Stands in for fpga_unit.cpp where the build leaves cards out.
#include "rashpa/core/components.hpp"
#include "rashpa/unit/fpga/fpga_unit.hpp"

namespace rashpa::unit::fpga {

std::unique_ptr<Unit> make_unit(const Choice& /*choice*/, const Pipeline& /*pipeline*/, const Layout& /*layout*/,
                                Doorbell& /*done_bell*/) {
  throw_left_out("unit", "card", "use unit cpu");
}

}  // namespace rashpa::unit::fpga
