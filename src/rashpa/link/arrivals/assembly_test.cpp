// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/arrivals/assembly.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link {
namespace {

constexpr std::uint32_t kLines = 4;
constexpr std::uint32_t kBytes = 1024;
constexpr std::uint32_t kSlots = 8;

/// Takes all that is decided.
struct Decided final : ArrivalOutput {
  bool ready(std::uint32_t) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    counts[static_cast<std::size_t>(arrival.completeness)] += 1;
    return true;
  }
  [[nodiscard]] std::uint64_t of(Completeness completeness) const {
    return counts.at(static_cast<std::size_t>(completeness));
  }
  std::array<std::uint64_t, 4> counts{};
};

/// Returns a DTP of few images, which are dealt among receivers.
ReceiverDtp dealt_dtp() {
  ReceiverDtp dtp = testing::small_dtp(3, 4, kLines, kBytes, kSlots);
  dtp.dealt = true;
  return dtp;
}

/// One DTP: its images come whole in numbered packets, and its user takes each at once.
struct Bench {
  explicit Bench(const ReceiverDtp& of = testing::small_dtp(3, 1ULL << 40, kLines, kBytes, kSlots)) : dtp(of) {}
  void send(std::uint64_t index) { send(index, dtp.slice.frame(index)); }
  void send(std::uint64_t index, std::uint64_t frame) {
    now += 1'000'000;
    std::uint32_t crc = 0;
    for (std::uint32_t l = 0; l < kLines; ++l) {
      crc = crc32c(line, crc);
      const std::uint64_t offset = dtp.placement.image_offset(index) + l * dtp.placement.pitch;
      const Target target = assembly.locate(offset, kBytes);
      assembly.number(packet++ & 0xFFFFFF);
      assembly.put_lines(target.index, offset, target.linear, line, std::nullopt, now);
    }
    FrameRecord record;
    record.dtp = dtp.id;
    record.frame_number = frame;
    record.index = index;
    record.slot = index % kSlots;
    record.lines = kLines;
    record.payload_bytes = dtp.placement.payload_bytes();
    record.payload_crc32c = crc;
    record.run = dtp.run;
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    assembly.number(packet++ & 0xFFFFFF);
    assembly.put_event(dtp.placement.record_offset(index), bytes, immediate_of(dtp.id, index), now);
    for (int turn = 0; turn < 2; ++turn) assembly.decide(0, assembly.undecided(), now, out);
  }

  ReceiverDtp dtp;
  std::vector<std::byte> memory = std::vector<std::byte>(testing::end_of(dtp));
  std::vector<std::byte> line = std::vector<std::byte>(kBytes, std::byte{7});
  ReceiverCounters counters;
  Decided out;
  Assembly assembly{dtp, 0, kBytes, ReceiverMemory(std::span<std::byte>(memory)), NotFree::overrun, counters};
  std::uint64_t packet = 0;
  std::int64_t now = 1'000'000'000;
};

TEST(Assembly, images_behind_an_outage_of_any_number_of_packets_are_complete) {
  constexpr std::uint64_t kRound = 1U << 24;
  for (const std::uint64_t outage : {std::uint64_t{1'000}, kRound / 2 - 1'000, kRound / 2 + 1'000, kRound / 4 * 3,
                                     kRound - 100'000, kRound + 1'000, 3 * kRound / 2 + 1'000}) {
    Bench bench;
    std::uint64_t index = 0;
    for (; index < 100; ++index) bench.send(index);
    EXPECT_EQ(bench.out.of(Completeness::complete), 100U);
    const std::uint64_t lost = outage / (kLines + 1);
    index += lost;
    bench.packet += lost * (kLines + 1);
    // The first ring behind it shares slots with images of which nothing came.
    for (std::uint64_t n = 0; n < 2 * kSlots; ++n) bench.send(index++);
    const std::uint64_t before = bench.out.of(Completeness::complete);
    for (std::uint64_t n = 0; n < 100; ++n) bench.send(index++);
    EXPECT_EQ(bench.out.of(Completeness::complete), before + 100) << outage;
  }
}

TEST(Assembly, dealt_images_may_come_any_number_of_times_and_are_of_the_slice) {
  Bench bench(dealt_dtp());
  for (std::uint64_t index = 0; index < 100; ++index) bench.send(index, bench.dtp.slice.frame(index % 4));
  EXPECT_EQ(bench.out.of(Completeness::complete), 100U);
  EXPECT_EQ(bench.counters.bad_records.get(), 0U);
  bench.send(100, bench.dtp.slice.frame(4));
  EXPECT_EQ(bench.out.of(Completeness::complete), 100U) << "the slice has no such frame";
  EXPECT_EQ(bench.counters.bad_records.get(), 1U);
}

// All of a ring may be lost: its source says then how many images it has sent.
TEST(Assembly, dealt_images_of_which_nothing_came_are_missing_once_their_source_says_so) {
  Bench bench(dealt_dtp());
  bench.send(0, bench.dtp.slice.frame(3));
  FrameRecord record;
  record.dtp = bench.dtp.id;
  record.flags = FrameRecord::skipped;
  record.index = 2;
  record.frame_number = bench.dtp.slice.frame(1);
  record.run = bench.dtp.run;
  EXPECT_TRUE(bench.assembly.put_skip(record, immediate_of(bench.dtp.id, 2), bench.now));
  for (int turn = 0; turn < 4; ++turn) {
    bench.now += 1'000'000'000;  // nothing can be on its way any more
    bench.assembly.decide(0, bench.assembly.undecided(), bench.now, bench.out);
  }
  EXPECT_EQ(bench.out.of(Completeness::complete), 1U);
  EXPECT_EQ(bench.out.of(Completeness::missing), 2U);
  EXPECT_EQ(bench.counters.bad_records.get(), 0U);
}

TEST(Assembly, images_that_are_not_dealt_are_as_many_as_expected) {
  ReceiverDtp few = dealt_dtp();
  few.dealt = false;
  Bench bench(few);
  for (std::uint64_t index = 0; index < 6; ++index) bench.send(index);
  EXPECT_EQ(bench.out.of(Completeness::complete), 4U);
  EXPECT_TRUE(bench.assembly.finished());
}

}  // namespace
}  // namespace rashpa::link
