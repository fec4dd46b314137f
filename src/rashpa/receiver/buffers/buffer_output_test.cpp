// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/buffers/buffer_output.hpp"

#include <gtest/gtest.h>

namespace rashpa::receiver {
namespace {

using unit::Delivery;

Delivery delivery(const std::vector<sink::Options>& sinks) {
  std::vector<SinkConfig> all;
  all.reserve(sinks.size());
  for (const sink::Options& one : sinks) all.emplace_back(one);
  return delivery_of(all);
}

TEST(BufferOutput, chunks_come_in_place_of_pixels_where_a_sink_stores_them_and_none_reads_pixels) {
  const sink::Hdf5Options files;
  const sink::Hdf5Options on_host{.prefix = {}, .compress = sink::Compress::host};
  const sink::Stream2Options stream;
  const sink::NullOptions counter;
  EXPECT_EQ(delivery({files}), Delivery::chunk_in_place);
  EXPECT_EQ(delivery({stream}), Delivery::chunk_in_place);
  EXPECT_EQ(delivery({files, stream, counter}), Delivery::chunk_in_place);
  EXPECT_EQ(delivery({counter}), Delivery::list_in_place) << "nobody would read the chunks";
  EXPECT_EQ(delivery({files, sink::MemoryOptions{}}), Delivery::list_in_place);
  EXPECT_EQ(delivery({files, sink::RawOptions{}}), Delivery::list_in_place);
  EXPECT_EQ(delivery({on_host, stream}), Delivery::list_in_place);
  SinkConfig own([](const Output& output) { return sink::make_sink(sink::NullOptions{}, output); });
  EXPECT_EQ(delivery_of({SinkConfig(files), own}), Delivery::list_in_place) << "nothing is known of it";
}

TEST(BufferOutput, sinks_share_no_chunks_that_all_of_them_get) {
  std::vector<SinkConfig> sinks{SinkConfig(sink::Hdf5Options{}), SinkConfig(sink::Stream2Options{})};
  Output output{.buffer = "full", .width = 4, .height = 4};
  EXPECT_NE(chunk_board_of(sinks, output, 8), nullptr);
  output.chunked = true;
  EXPECT_EQ(chunk_board_of(sinks, output, 8), nullptr);
}

}  // namespace
}  // namespace rashpa::receiver
