// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/sinks/named_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"

namespace rashpa::receiver {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view kind, const NamedValues& values) {
  try {
    static_cast<void>(named_sink(kind, values));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(NamedSink, has_its_own_values_and_those_of_its_line) {
  const SinkConfig plain = named_sink("null", {});
  EXPECT_EQ(plain.name, "null");
  EXPECT_EQ(plain.on_full, OnFull::wait);
  EXPECT_EQ(plain.queue, 4U);
  const SinkConfig dropping = named_sink(
      "memory", {{"queue", std::int64_t{7}}, {"capacity", std::int64_t{3}}, {"on_full", std::string("drop")}});
  EXPECT_EQ(dropping.name, "memory");
  EXPECT_EQ(dropping.on_full, OnFull::drop);
  EXPECT_EQ(dropping.queue, 7U);
}

TEST(NamedSink, what_is_wrong_is_said_with_sink_and_key) {
  EXPECT_EQ(refusal("memory", {{"queue", std::int64_t{0}}}), "sink: queue: 0 is not an integer from 1 up to 1024");
  EXPECT_EQ(refusal("memory", {{"capacity", true}}),
            "sink memory: capacity: true is not an integer from 1 up to 1048576");
  EXPECT_EQ(refusal("hdf5", {}), "sink hdf5: prefix: it is needed and not there; give it");
  EXPECT_THAT(refusal("null", {{"speed", 1.0}}),
              HasSubstr("sink null: speed: there is no such parameter; leave it out"));
  EXPECT_THAT(refusal("tape", {}), HasSubstr("hdf5, raw, memory, null"));
}

}  // namespace
}  // namespace rashpa::receiver
