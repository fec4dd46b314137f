// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel {
namespace {

using testing::HasSubstr;

TEST(Registry, every_kernel_declares_what_units_and_people_need) {
  std::set<std::string> names;
  for (const Kernel* kernel : kernels()) {
    const Declaration& declaration = kernel->declaration();
    SCOPED_TRACE(declaration.name);
    EXPECT_TRUE(names.insert(declaration.name).second) << "a name is taken once";
    EXPECT_FALSE(declaration.purpose.empty());
    EXPECT_EQ(declaration.takes.pixels.empty(), !declaration.takes_pixels());
    EXPECT_EQ(declaration.takes.kind == Port::Kind::scalars, !declaration.takes.by.empty());
    EXPECT_FALSE(declaration.makes.empty());
    EXPECT_FALSE(declaration.units.empty());
    for (const Port& port : declaration.makes) {
      const bool has_columns = port.kind == Port::Kind::scalars || port.kind == Port::Kind::table ||
                               port.kind == Port::Kind::profile || port.kind == Port::Kind::accumulation;
      EXPECT_EQ(port.columns.empty(), !has_columns);
      EXPECT_EQ(port.reasons.empty(), port.kind != Port::Kind::verdict || !port.by.empty());
    }
    EXPECT_EQ(&kernel_named(declaration.name), kernel);
  }
}

TEST(Registry, a_kernel_that_is_not_there_is_refused_with_those_that_are) {
  try {
    static_cast<void>(kernel_named("bragg"));
    FAIL() << "found";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("kernel bragg is not known; choose one of jungfrau, bragg_count"));
  }
}

TEST(Registry, parameters_are_read_by_name_and_refused_by_name) {
  const auto refusal = [](const char* name, const NamedValues& values) -> std::string {
    try {
      static_cast<void>(kernel_named(name).make(values, {}));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("csr", {{"capacity", 0.5}}), "accepted");
  EXPECT_THAT(refusal("csr", {{"capacity", 1.5}}), HasSubstr("kernel csr: capacity: 1.5 is not"));
  EXPECT_THAT(refusal("bragg_count", {{"threshold", std::int64_t{1}}}),
              HasSubstr("kernel bragg_count: min_pixels: it is needed and not there; give it"));
  EXPECT_THAT(
      refusal("bragg_count",
              {{"threshold", std::int64_t{1}}, {"min_pixels", std::int64_t{4}}, {"max_pixels", std::int64_t{3}}}),
      HasSubstr("kernel bragg_count: min_pixels: 4 is above max_pixels 3"));
  EXPECT_THAT(refusal("jungfrau", {{"photon_energy_kev", 12.4}}),
              HasSubstr("kernel jungfrau: needs pedestal and gain"));
}

}  // namespace
}  // namespace rashpa::kernel
