// SPDX-License-Identifier: Apache-2.0
/// The unit on OpenCL devices: the contract of all units, images in place and copied, and what is its own. On a machine
/// without OpenCL the tests are skipped and say why.
#include "rashpa/unit/opencl/opencl_unit.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"
#include "rashpa/unit/contract/bench.hpp"
#include "rashpa/unit/unit_contract.hpp"

namespace rashpa::unit {
namespace {

using namespace contract;  // NOLINT(google-build-using-namespace): the bench of these tests

std::vector<Contestant> contestants() {
  if (!opencl::available().usable) return {};
  return {{.name = "in_place", .choice = {.kind = Kind::opencl, .transfer = Transfer::in_place}},
          {.name = "copied", .choice = {.kind = Kind::opencl, .transfer = Transfer::copied}}};
}

INSTANTIATE_TEST_SUITE_P(Opencl, UnitContract, testing::ValuesIn(contestants()),
                         [](const auto& one) { return one.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UnitContract);

TEST(OpenclUnit, this_machine_has_a_device) {
  const Available found = opencl::available();
  if (!found.usable) GTEST_SKIP() << "the tests of unit opencl are left out: " << found.what;
  EXPECT_FALSE(found.what.empty());
}

}  // namespace
}  // namespace rashpa::unit
