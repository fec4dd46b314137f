// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/components.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "rashpa/core/error.hpp"

namespace rashpa {

namespace {

TEST(Components, AreThoseThatRunFilesName) {
  std::vector<std::string_view> names;
  for (const Component& one : components()) {
    names.push_back(one.name);
    EXPECT_FALSE(one.adds.empty()) << one.name;
  }
  EXPECT_THAT(names, testing::ElementsAre("cuda", "opencl", "verbs", "card", "vfio"));
}

TEST(Components, TestsHaveAllThatNeedNoCompilerOfTheirOwn) {
  for (const Component& one : components()) EXPECT_TRUE(one.built || one.name == "cuda") << one.name;
}

TEST(Components, WordsNameKeyPartAndWayOut) {
  EXPECT_EQ(left_out("verbs"),
            "this build leaves out verbs (link verbs); run `make build` on a machine with libibverbs-dev, or install a "
            "wheel that has it");
  EXPECT_EQ(
      left_out("card"),
      "this build leaves out card (unit fpga, link fpga, emulators on a card); run `make build`, or install a wheel "
      "that has it");
  try {
    throw_left_out("link", "verbs", "use link roce");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("link: this build leaves out verbs (link verbs); "));
    EXPECT_THAT(error.what(), testing::EndsWith(", or use link roce"));
  }
}

TEST(Components, AnUnknownOneIsSaid) { EXPECT_EQ(left_out("gpu"), "there is no component gpu"); }

}  // namespace

}  // namespace rashpa
