// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/factory.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"

namespace rashpa::sink {
namespace {

TEST(Factory, every_name_gives_options_that_bear_it) {
  EXPECT_EQ(sink_names(), (std::vector<std::string>{"hdf5", "raw", "memory", "null", "stream2"}));
  for (const std::string& name : sink_names()) EXPECT_NO_THROW(static_cast<void>(parameters_of(name)));
  EXPECT_EQ(name_of(options_named("memory", {})), "memory");
  EXPECT_EQ(name_of(options_named("null", {})), "null");
}

TEST(Factory, a_name_that_no_sink_has_is_refused_with_those_that_there_are) {
  try {
    static_cast<void>(options_named("tape", {}));
    FAIL() << "made";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("hdf5, raw, memory, null"), std::string::npos) << error.what();
  }
}

TEST(Factory, a_sink_knows_the_images_that_it_will_get) {
  const Output output{.buffer = "full", .width = 3, .height = 2, .pixel = PixelType::i32};
  EXPECT_EQ(output.image_bytes(), 24U);
  const auto counter = make_sink(NullOptions{}, output);
  Stack stack;
  stack.count = 1;
  stack.images.resize(1);
  stack.images[0].decision = Decision::accepted;
  ErrorReason result = ErrorReason::none;
  counter->put(stack, {&result, 1});
  EXPECT_EQ(counter->stats().bytes_written, 24U);
  EXPECT_TRUE(counter->is_prompt());
  EXPECT_FALSE(make_sink(MemoryOptions{.capacity = 1}, output)->is_prompt());
  Hdf5Options files;
  files.prefix = "/nowhere/run";
  EXPECT_THROW(static_cast<void>(make_sink(files, output)), FileError);
}

}  // namespace
}  // namespace rashpa::sink
