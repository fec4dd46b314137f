// SPDX-License-Identifier: Apache-2.0
/// One detector to several receivers, and several detectors to one: every DTP has its own queue pair and destination.
#include <gtest/gtest.h>

#include "chain.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/sink/simple/null_sink.hpp"

namespace rashpa::chain {
namespace {

constexpr std::uint32_t kWidth = 64;
constexpr std::uint32_t kHeight = 16;
constexpr std::uint64_t kFrames = 300;

/// A receiver of `modules` modules of which the DTP ids begin with `first_id`; it takes every `every`-th frame.
receiver::Config receiver_of(std::uint32_t first_id, std::uint32_t modules, Slice slice) {
  receiver::BufferConfig buffer;
  buffer.name = "part";
  buffer.width = kWidth;
  buffer.height = kHeight * modules;
  buffer.slots = 16;
  buffer.stack = 4;
  buffer.slice = slice;
  buffer.images = slice.images(kFrames);
  buffer.deadline_ms = 5'000;
  buffer.sinks.emplace_back([](const receiver::Output&) { return std::make_unique<sink::NullSink>(2048); });
  for (std::uint32_t m = 0; m < modules; ++m) {
    buffer.dtps.push_back(
        {.id = first_id + m, .module = m, .x = 0, .y = m * kHeight, .width = kWidth, .height = kHeight});
  }
  receiver::Config config;
  config.buffers.push_back(buffer);
  config.memory = memory::MemoryKind::pageable;
  config.port = 0;
  return config;
}

emulator::SourceDtp dtp_to(const receiver::Receiver& receiver, std::size_t position, std::uint32_t id,
                           std::uint32_t module, Slice slice) {
  transfer::Dtp dtp{.id = id,
                    .module = module,
                    .region = {0, 0, kWidth, kHeight},
                    .slice = slice,
                    .images = slice.images(kFrames),
                    .placement = receiver.placements()[position],
                    .run = 0};
  return {dtp, receiver.endpoints()[position]};
}

emulator::Config emulator_of(std::vector<emulator::SourceDtp> dtps, std::uint32_t modules) {
  emulator::Config config;
  config.dataset = dataset::make_pattern({kWidth, kHeight, PixelType::u16}, modules, 8);
  config.frames = kFrames;
  config.dtps = std::move(dtps);
  return config;
}

void expect_all(receiver::Receiver& receiver, std::uint64_t images) {
  receiver.finish();
  ASSERT_TRUE(receiver.wait(30));
  const Books books = receiver.status().buffers[0].books;
  EXPECT_EQ(books.complete, images);
  EXPECT_TRUE(books.balanced());
}

TEST(Fan, one_detector_feeds_two_receivers_in_turn) {
  const Slice even{2, 0};
  const Slice odd{2, 1};
  receiver::Receiver first(receiver_of(0, 2, even));
  receiver::Receiver second(receiver_of(2, 2, odd));
  emulator::Emulator detector(emulator_of({dtp_to(first, 0, 0, 0, even), dtp_to(first, 1, 1, 1, even),
                                           dtp_to(second, 0, 2, 0, odd), dtp_to(second, 1, 3, 1, odd)},
                                          2));
  const auto ends = detector.endpoints();
  first.arm({ends[0], ends[1]});
  second.arm({ends[2], ends[3]});
  first.start();
  second.start();
  detector.start();
  ASSERT_TRUE(detector.wait(30));
  expect_all(first, kFrames / 2);
  expect_all(second, kFrames / 2);
}

TEST(Fan, two_detectors_feed_one_receiver) {
  receiver::Receiver both(receiver_of(0, 2, {}));
  emulator::Emulator left(emulator_of({dtp_to(both, 0, 0, 0, {})}, 1));
  emulator::Emulator right(emulator_of({dtp_to(both, 1, 1, 0, {})}, 1));
  both.arm({left.endpoints()[0], right.endpoints()[0]});
  both.start();
  left.start();
  right.start();
  ASSERT_TRUE(left.wait(30));
  ASSERT_TRUE(right.wait(30));
  expect_all(both, kFrames);
}

}  // namespace
}  // namespace rashpa::chain
