// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common behaviour of all units: the tests of contract/, run by the test program of each unit. A unit differs
/// from the others in speed only.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rashpa/unit/factory.hpp"

namespace rashpa::unit {

/// A way to make a unit, and its limits.
struct Contestant {
  std::string name;
  Choice choice{};
  bool resident = false;      ///< takes jungfrau, and a count and a list that ride on it, nothing else
  bool photons_only = false;  ///< of jungfrau
};

class UnitContract : public testing::TestWithParam<Contestant> {};

}  // namespace rashpa::unit
