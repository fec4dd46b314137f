// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/port_handler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/link/sls/sending/frame_buffer.hpp"
#include "rashpa/link/sls/testing/testing.hpp"
#include "rashpa/memory/gather/gather.hpp"
#include "rashpa/memory/gather/testing.hpp"

namespace rashpa::link::sls {
namespace {

using testing::datagram;
using testing::Decided;
using testing::pattern;
using testing::Places;
using testing::places;

/// The way of pixels: copies by the processor, or a gather into memory of a device.
enum class By : std::uint8_t { copies, gather };

/// A port with its memory.
struct Bench {
  explicit Bench(By by, const Options& chosen, std::uint64_t images = 10, std::uint32_t slots = 4,
                 std::uint32_t line_bytes = 0, std::uint32_t lines = 0, std::uint32_t gap = 0)
      : options(chosen),
        place(places(options, 1, images, slots, line_bytes, lines, gap)),
        region(place.bytes),
        far(region),
        counts(1, 1) {
    if (by == By::gather) gather.emplace(far.make_gather({}), memory::GatherRoom{});
    const ReceiverMemory memory = gather ? ReceiverMemory(far.block(), region, &far) : ReceiverMemory(region);
    port.emplace(options, 0, place.dtps, 0, memory, counts, counters, gather ? &*gather : nullptr);
  }

  /// Gives a datagram that stays where it is, as in a pool.
  void handle(std::span<const std::byte> datagram) {
    kept.emplace_back(datagram.begin(), datagram.end());
    port->handle(kept.back(), now);
  }
  void give(std::uint64_t frame, std::uint32_t packet, std::uint16_t row = 0) {
    handle(datagram(options, 0, frame, packet, row));
  }
  void give_frame(std::uint64_t frame, std::uint16_t row = 0) {
    for (std::uint32_t packet = 0; packet < port->shape().packets; ++packet) give(frame, packet, row);
    decide();
  }
  /// Decides what can be decided when the gather has ended.
  void decide() {
    if (gather) gather->submit();
    while (gather && !gather->ended(gather->latest())) gather->look();
    port->decide_touched(now, out);
  }

  Options options;
  Places place;
  std::vector<std::byte> region;
  memory::testing::FarImages far;
  std::optional<memory::Gather> gather;
  FrameCounts counts;
  PortCounters counters;
  std::optional<PortHandler> port;
  std::deque<std::vector<std::byte>> kept;
  Decided out;
  std::int64_t now = 1;
};

class SlsPortHandlerBy : public ::testing::TestWithParam<By> {};

INSTANTIATE_TEST_SUITE_P(Ways, SlsPortHandlerBy, ::testing::Values(By::copies, By::gather), [](const auto& param) {
  return std::string(param.param == By::copies ? "copies" : "gather");
});

Options eiger(std::uint32_t bits, std::uint32_t gigabits = 10) {
  Options options;
  options.detector = Detector::eiger;
  options.bits = bits;
  options.gigabits = gigabits;
  return options;
}

/// The oracle: pixel by pixel (4 bits: bytes; 12 bits: bytes of the packed row), where a port's datagrams put it.
std::byte expected(const Options& options, std::uint64_t frame, std::uint32_t y, std::uint32_t byte, bool flip) {
  const PortShape shape = shape_of(options, 0);
  const std::uint64_t stream = flip ? shape.rows - 1 - y : y;
  if (options.bits != 4 || options.detector != Detector::eiger) {
    const std::uint64_t at = stream * shape.row_bytes + byte;
    return pattern(frame, 0, static_cast<std::uint32_t>(at / shape.payload),
                   static_cast<std::uint32_t>(at % shape.payload));
  }
  const std::uint64_t pixel = stream * 512 + byte;
  const std::uint64_t at = pixel / 2;
  const std::byte both =
      pattern(frame, 0, static_cast<std::uint32_t>(at / shape.payload), static_cast<std::uint32_t>(at % shape.payload));
  const bool low = (pixel % 2 == 0) == (options.nibbles == Nibbles::low_first);
  return low ? both & std::byte{0xF} : both >> 4;
}

void expect_frame(const Bench& bench, std::uint64_t frame, bool flip) {
  const PortShape& shape = bench.port->shape();
  const Placement& first = bench.place.dtps[0].placement;
  const std::uint32_t across = shape.row_bytes / first.line_bytes;
  for (std::uint32_t y = 0; y < shape.rows; y += 3) {
    for (std::uint32_t byte = 0; byte < shape.row_bytes; byte += 5) {
      const std::uint32_t tile = y / first.lines * across + byte / first.line_bytes;
      const Placement& p = bench.place.dtps[tile].placement;
      const std::uint64_t offset = p.image_offset(frame - 1) + y % first.lines * p.pitch + byte % first.line_bytes;
      ASSERT_EQ(bench.region[offset], expected(bench.options, frame, y, byte, flip)) << "row " << y << " byte " << byte;
    }
  }
}

TEST_P(SlsPortHandlerBy, each_mode_of_each_detector_puts_pixels_where_the_oracle_does) {
  std::vector<Options> all;
  for (const std::uint32_t bits : {4U, 8U, 12U, 16U, 32U}) {
    all.push_back(eiger(bits));
    all.push_back(eiger(bits, 1));
  }
  all.push_back(eiger(4));
  all.back().nibbles = Nibbles::high_first;
  all.emplace_back();
  all.emplace_back();
  all.back().interfaces = 2;
  all.emplace_back();
  all.back().detector = Detector::moench;
  for (const Options& options : all) {
    for (const std::uint16_t row : {std::uint16_t{0}, std::uint16_t{1}}) {
      Bench bench(GetParam(), options);
      bench.give_frame(1, row);
      bench.give_frame(2, row);
      ASSERT_EQ(bench.out.arrivals.size(), 2U);
      EXPECT_EQ(bench.out.arrivals[1].completeness, Completeness::complete);
      expect_frame(bench, 2, options.detector == Detector::eiger && row == 0);
    }
  }
}

TEST_P(SlsPortHandlerBy, chips_with_gaps_between_them_are_dtps_of_their_own) {
  Bench bench(GetParam(), Options{}, 10, 4, 512, 256, 4);
  ASSERT_EQ(bench.place.dtps.size(), 8U);
  bench.give_frame(1);
  EXPECT_EQ(bench.out.arrivals.size(), 8U);
  expect_frame(bench, 1, false);
}

TEST_P(SlsPortHandlerBy, a_lost_packet_is_known_by_its_rows) {
  Bench bench(GetParam(), eiger(32));
  for (std::uint32_t packet = 0; packet < 128; ++packet) {
    if (packet != 5) bench.give(1, packet, 4);
  }
  bench.give_frame(2, 4);
  bench.give_frame(3, 4);
  ASSERT_GE(bench.out.arrivals.size(), 1U);
  const Arrival& arrival = bench.out.arrivals[0];
  EXPECT_EQ(arrival.completeness, Completeness::partial);
  EXPECT_EQ(arrival.loss, Loss::lines);
  EXPECT_EQ(arrival.lines_missing, 2U);
  ASSERT_NE(arrival.map, nullptr);
  EXPECT_FALSE(arrival.map->line_arrived(255 - 10)) << "rows 10 and 11 of the stream, from the middle outward";
  EXPECT_FALSE(arrival.map->line_arrived(255 - 11));
  EXPECT_TRUE(arrival.map->line_arrived(255 - 12));
}

TEST_P(SlsPortHandlerBy, duplicates_and_any_order_change_nothing) {
  Bench bench(GetParam(), Options{});
  std::vector<std::uint32_t> order;
  for (std::uint32_t packet = 0; packet < 128; ++packet) order.insert(order.end(), 1 + packet % 2, packet);
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  for (const std::uint32_t packet : order) bench.give(1, packet);
  bench.decide();
  ASSERT_EQ(bench.out.arrivals.size(), 1U);
  EXPECT_EQ(bench.out.arrivals[0].completeness, Completeness::complete);
  EXPECT_EQ(bench.counters.duplicate_packets.get(), 64U);
  expect_frame(bench, 1, false);
}

TEST_P(SlsPortHandlerBy, stragglers_of_a_frame_that_was_given_up_are_late) {
  Bench bench(GetParam(), Options{});
  bench.give(1, 0);
  for (std::uint64_t frame = 2; frame <= 4; ++frame) bench.give_frame(frame);
  ASSERT_EQ(bench.out.arrivals.size(), 4U);
  EXPECT_EQ(bench.out.arrivals[0].completeness, Completeness::partial);
  const std::vector<std::byte> before = bench.region;
  for (std::uint32_t packet = 1; packet < 128; ++packet) bench.give(1, packet);
  EXPECT_EQ(bench.region, before);
  EXPECT_EQ(bench.counters.late_packets.get(), 127U);
}

TEST_P(SlsPortHandlerBy, rows_that_are_not_read_out_are_not_missing) {
  Options options;
  options.read_rows = 16;
  Bench bench(GetParam(), options);
  EXPECT_EQ(bench.port->shape().packets, 4U);
  bench.give_frame(1);
  ASSERT_EQ(bench.out.arrivals.size(), 1U);
  EXPECT_EQ(bench.out.arrivals[0].completeness, Completeness::complete);
}

TEST_P(SlsPortHandlerBy, what_is_no_datagram_of_this_port_is_counted_and_changes_nothing) {
  Bench bench(GetParam(), Options{});
  const std::vector<std::byte> good = datagram(bench.options, 0, 1, 0, 0);
  const auto broken = [&](std::size_t at, std::uint8_t value) {
    std::vector<std::byte> bytes = good;
    bytes[at] = std::byte{value};
    return bytes;
  };
  bench.handle(std::span<const std::byte>());
  bench.handle(std::span(good).first(40));
  bench.handle(std::span(good).first(good.size() - 1));
  bench.handle(broken(46, 1));
  bench.handle(broken(47, 1));
  EXPECT_EQ(bench.counters.malformed.get(), 5U);
  bench.handle(good);
  bench.handle(broken(34, 3));
  bench.handle(broken(36, 3));
  EXPECT_EQ(bench.counters.wrong_port.get(), 2U);
  bench.handle(broken(12, 128));
  bench.handle(broken(15, 0x80));
  EXPECT_EQ(bench.counters.wrong_number.get(), 2U);
  EXPECT_EQ(bench.counters.packets.get(), 10U);
}

TEST_P(SlsPortHandlerBy, frames_behind_the_run_are_counted) {
  Bench bench(GetParam(), Options{}, 2);
  bench.give_frame(1);
  bench.give_frame(2);
  bench.give_frame(3);
  EXPECT_EQ(bench.out.arrivals.size(), 2U);
  EXPECT_EQ(bench.counters.no_frame.get(), 128U);
}

TEST(SlsPortHandler, every_nth_frame_is_an_image_where_the_buffer_takes_no_other) {
  Options options;
  Places place = places(options, 1, 3, 4);
  place.dtps[0].slice = {3, 1};
  std::vector<std::byte> region(place.bytes);
  FrameCounts counts(1, 1);
  PortCounters counters;
  PortHandler port(options, 0, place.dtps, 0, region, counts, counters);
  Decided out;
  for (std::uint64_t frame = 1; frame <= 8; ++frame) {
    for (std::uint32_t packet = 0; packet < 128; ++packet) port.handle(datagram(options, 0, frame, packet, 0), 1);
    port.decide_touched(1, out);
  }
  ASSERT_EQ(out.arrivals.size(), 3U);
  EXPECT_EQ(out.arrivals[2].record.frame_number, 7U);
  EXPECT_EQ(region[place.dtps[0].placement.image_offset(2) + 3], pattern(8, 0, 0, 3));
}

TEST(SlsPortHandler, tiles_of_two_sizes_are_refused) {
  Options options;
  Places place = places(options, 1, 3, 4, 1024, 512);
  place.dtps[1].placement.lines = 256;
  std::vector<std::byte> region(place.bytes);
  FrameCounts counts(1, 1);
  PortCounters counters;
  EXPECT_THROW(PortHandler(options, 0, place.dtps, 0, region, counts, counters), ConfigError);
}

TEST(SlsPortHandler, an_image_is_decided_when_its_gather_has_ended_and_not_before) {
  Bench bench(By::gather, Options{});
  for (std::uint32_t packet = 0; packet < 128; ++packet) bench.give(1, packet);
  bench.port->decide_all(1, bench.out, Taken::all);
  EXPECT_TRUE(bench.out.arrivals.empty()) << "no list has begun";
  bench.gather->submit();
  bench.far.stuck = true;
  for (int i = 0; i < 9; ++i) {
    bench.gather->look();
    bench.port->decide_touched(1, bench.out);
    bench.port->decide_all(1, bench.out, Taken::all);
  }
  EXPECT_TRUE(bench.out.arrivals.empty());
  EXPECT_TRUE(bench.port->news(bench.out)) << "the thread must not sleep";
  bench.port->tiles()[0]->close(1);
  bench.port->decide_all(1, bench.out, Taken::all);
  EXPECT_TRUE(bench.out.arrivals.empty()) << "bytes under way would come into a slot of another image";
  bench.far.stuck = false;
  bench.decide();
  ASSERT_EQ(bench.out.arrivals.size(), 1U);
  EXPECT_EQ(bench.out.arrivals[0].completeness, Completeness::complete);
  expect_frame(bench, 1, false);
}

TEST(SlsPortHandler, an_image_of_many_tiles_is_decided_without_another_packet) {
  Bench bench(By::gather, Options{}, 10, 4, 512, 256, 4);
  for (std::uint32_t packet = 0; packet < 128; ++packet) bench.give(1, packet);
  bench.gather->submit();
  bench.port->decide_touched(1, bench.out);
  EXPECT_TRUE(bench.out.arrivals.empty());
  bench.decide();
  EXPECT_EQ(bench.out.arrivals.size(), 8U);
}

TEST(SlsPortHandler, packets_without_a_list_are_lost_and_counted) {
  Bench bench(By::gather, Options{});
  const memory::GatherRoom room{.pool_bytes = 64, .lists = 2, .runs = 32};
  memory::Gather gather(bench.far.make_gather(room), room);
  bench.far.stuck = true;
  PortHandler port(bench.options, 0, bench.place.dtps, 0, ReceiverMemory(bench.far.block(), bench.region, &bench.far),
                   bench.counts, bench.counters, &gather);
  for (std::uint32_t packet = 0; packet < 128; ++packet) {
    bench.kept.push_back(datagram(bench.options, 0, 1, packet, 0));
    port.handle(bench.kept.back(), 1);
  }
  EXPECT_EQ(bench.counters.gather_full.get(), 64U);
  EXPECT_EQ(bench.counters.payload_bytes.get(), 64U * 8192);
  bench.far.stuck = false;
  gather.submit();
  while (!gather.ended(gather.latest())) gather.look();
  port.tiles()[0]->close(1);
  port.decide_all(1, bench.out, Taken::all);
  port.decide_all(1, bench.out, Taken::all);
  ASSERT_EQ(bench.out.arrivals.size(), 1U);
  EXPECT_EQ(bench.out.arrivals[0].completeness, Completeness::partial);
  EXPECT_EQ(bench.out.arrivals[0].lines_missing, 256U);
}

TEST(SlsPortHandler, of_a_device_that_has_failed_no_line_is_valid) {
  Bench bench(By::gather, Options{});
  for (std::uint32_t packet = 0; packet < 128; ++packet) bench.give(1, packet);
  bench.far.failed = true;
  bench.decide();
  ASSERT_EQ(bench.out.arrivals.size(), 1U);
  EXPECT_EQ(bench.out.arrivals[0].completeness, Completeness::partial);
  EXPECT_EQ(bench.out.arrivals[0].loss, Loss::corrupt);
  bench.give(2, 0);
  EXPECT_EQ(bench.counters.gather_full.get(), 1U);
}

/// The emulator's datagrams are those from which the receiver makes the same image.
TEST(SlsFrameBuffer, what_is_written_comes_back) {
  for (const std::uint32_t bits : {4U, 8U, 12U, 16U, 32U}) {
    for (const bool flip : {false, true}) {
      const Options options = eiger(bits);
      Bench bench(By::copies, options);
      const PortShape& shape = bench.port->shape();
      FrameBuffer frame(options, shape, flip);
      std::vector<std::byte> image(std::size_t{shape.rows} * shape.row_bytes);
      for (std::size_t i = 0; i < image.size(); ++i) {
        image[i] =
            static_cast<std::byte>(i * 7 + i / 512) & std::byte{bits == 4 ? std::uint8_t{0xF} : std::uint8_t{0xFF}};
      }
      for (std::size_t at = 0; at < image.size(); at += 1536) {
        frame.write(at, std::span(image).subspan(at, std::min<std::size_t>(1536, image.size() - at)));
      }
      Header header;
      header.frame_number = 1;
      header.row = flip ? 0 : 1;
      header.type = type_of(options.detector);
      frame.set_headers(header);
      for (std::uint32_t packet = 0; packet < shape.packets; ++packet) bench.handle(frame.datagrams(packet, 1));
      bench.decide();
      ASSERT_EQ(bench.out.arrivals.size(), 1U);
      EXPECT_TRUE(std::equal(image.begin(), image.end(), bench.region.begin())) << bits << " bits";
    }
  }
}

}  // namespace
}  // namespace rashpa::link::sls
