// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/parameter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"

namespace rashpa {
namespace {

using testing::HasSubstr;

enum class Colour : std::uint8_t { red, green };
struct Config {
  std::int16_t threshold = 1;
  double capacity = 0.1;
  Colour colour = Colour::green;
  bool loud = false;
  std::string file;
};

Parameters<Config> declared() {
  return Parameters<Config>("kernel test")
      .add({.name = "threshold", .doc = "photons", .least = 1, .most = 100}, &Config::threshold, Need::needed)
      .add({.name = "capacity", .least = 0, .above = true, .most = 1}, &Config::capacity)
      .add({.name = "colour", .choices = {"red", "green"}}, &Config::colour)
      .add({.name = "loud"}, &Config::loud)
      .add({.name = "file"}, &Config::file);
}

std::string refusal(const NamedValues& values) {
  try {
    static_cast<void>(declared().read(values));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Parameters, values_reach_their_members_and_the_others_keep_their_defaults) {
  const Config config = declared().read({{"colour", std::string("red")}, {"threshold", std::int64_t{7}}});
  EXPECT_EQ(config.threshold, 7);
  EXPECT_EQ(config.capacity, 0.1);
  EXPECT_EQ(config.colour, Colour::red);
  EXPECT_FALSE(config.loud);
  const Config all = declared().read(
      {{"threshold", std::int64_t{1}}, {"capacity", std::int64_t{1}}, {"loud", true}, {"file", std::string("a.h5")}});
  EXPECT_EQ(all.capacity, 1.0) << "an integer is a number";
  EXPECT_TRUE(all.loud);
  EXPECT_EQ(all.file, "a.h5");
}

TEST(Parameters, what_is_wrong_is_said_with_its_key) {
  const NamedValue threshold{"threshold", std::int64_t{1}};
  EXPECT_EQ(refusal({}), "kernel test: threshold: it is needed and not there; give it");
  EXPECT_EQ(refusal({{"threshold", std::int64_t{101}}}),
            "kernel test: threshold: 101 is not an integer from 1 up to 100");
  EXPECT_EQ(refusal({{"threshold", 2.5}}), "kernel test: threshold: 2.5 is not an integer from 1 up to 100");
  EXPECT_EQ(refusal({threshold, {"capacity", 0.0}}), "kernel test: capacity: 0 is not a number above 0 up to 1");
  EXPECT_EQ(refusal({threshold, {"capacity", std::numeric_limits<double>::quiet_NaN()}}),
            "kernel test: capacity: nan is not a number above 0 up to 1");
  EXPECT_EQ(refusal({threshold, {"colour", std::string("blue")}}),
            "kernel test: colour: blue is not one of red, green");
  EXPECT_EQ(refusal({threshold, {"loud", std::int64_t{1}}}), "kernel test: loud: 1 is not true or false");
  EXPECT_EQ(refusal({threshold, {"file", true}}), "kernel test: file: true is not a text");
  EXPECT_THAT(refusal({threshold, threshold}), HasSubstr("threshold: it is given twice; give it once"));
  EXPECT_EQ(refusal({threshold, {"tint", true}}),
            "kernel test: tint: there is no such parameter; choose one of threshold, capacity, colour, loud, file");
}

TEST(Parameters, the_declaration_is_json) {
  const auto parameters = declared();
  EXPECT_EQ(json_of(parameters.declared()[0]),
            R"({"name": "threshold", "kind": "integer", "least": 1, "most": 100, "doc": "photons"})");
  EXPECT_EQ(json_of(parameters.declared()[1]),
            R"({"name": "capacity", "kind": "number", "above": 0, "most": 1, "default": 0.1, "doc": ""})");
  EXPECT_EQ(json_of(parameters.declared()[2]),
            R"({"name": "colour", "kind": "choice", "choices": ["red", "green"], "default": "green", "doc": ""})");
  EXPECT_EQ(json_of(std::string_view("a \"b\"\\\n")), R"("a \"b\"\\\u000a")");
}

}  // namespace
}  // namespace rashpa
