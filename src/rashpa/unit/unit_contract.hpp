// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common behaviour of all units: the tests of contract/, which the test program of each unit runs. Units may
/// differ only in speed.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rashpa/unit/factory.hpp"

namespace rashpa::unit {

/// A unit to test: the way to make it, and its limits.
struct Contestant {
  std::string name;
  Choice choice{};
  bool resident = false;      ///< true: supports only jungfrau, and a count and a list from its pass
  bool photons_only = false;  ///< true: jungfrau makes only photons
};

class UnitContract : public testing::TestWithParam<Contestant> {};

}  // namespace rashpa::unit
