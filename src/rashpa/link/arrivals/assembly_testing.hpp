// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One DTP's assembly, for its tests.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link::assembled {

inline constexpr std::uint32_t kLines = 4;
inline constexpr std::uint32_t kBytes = 1024;
inline constexpr std::uint32_t kSlots = 8;

/// An output that accepts all arrivals and keeps them.
struct Decided final : ArrivalOutput {
  bool ready(std::uint32_t) noexcept override { return takes; }
  bool emit(const Arrival& arrival) noexcept override {
    if (!takes) return false;
    counts[static_cast<std::size_t>(arrival.completeness)] += 1;
    last = arrival;
    return true;
  }
  [[nodiscard]] std::uint64_t of(Completeness completeness) const {
    return counts.at(static_cast<std::size_t>(completeness));
  }
  std::array<std::uint64_t, 4> counts{};
  Arrival last{};
  bool takes = true;
};

/// Returns a DTP of few images that are dealt among receivers.
inline ReceiverDtp dealt_dtp() {
  ReceiverDtp dtp = testing::small_dtp(3, 4, kLines, kBytes, kSlots);
  dtp.dealt = true;
  return dtp;
}

/// A test bench of one DTP: its images come in numbered packets, and its user releases each at once.
struct Bench {
  explicit Bench(const ReceiverDtp& of = testing::small_dtp(3, 1ULL << 40, kLines, kBytes, kSlots),
                 MapUnit unit = kBytes, Sight sight = Sight::packets, NotFree not_free = NotFree::overrun)
      : dtp(of), assembly(dtp, 0, unit, ReceiverMemory(std::span<std::byte>(memory)), not_free, counters, sight) {}
  void send(std::uint64_t index) { send(index, dtp.slice.frame(index)); }
  /// Puts `bytes` bytes of line `l` of an image, from byte `from` on.
  void put(std::uint64_t index, std::uint32_t l, std::uint32_t from = 0, std::uint32_t bytes = kBytes) {
    now += 1'000;
    const std::uint64_t offset = dtp.placement.image_offset(index) + l * dtp.placement.pitch + from;
    const Target target = assembly.locate(offset, bytes);
    assembly.put_lines(target.index, offset, target.linear, std::span(line).first(bytes), std::nullopt, now);
  }
  void put_all(std::uint64_t index) {
    for (std::uint32_t l = 0; l < kLines; ++l) put(index, l);
  }
  void decide(std::int64_t later_ns = 0) { assembly.decide(0, assembly.undecided(), now += later_ns, out); }
  bool skip(std::uint64_t index, std::uint64_t skipped, std::uint64_t records) {
    FrameRecord record;
    record.dtp = dtp.id;
    record.flags = FrameRecord::skipped;
    record.index = index;
    record.frame_number = dtp.slice.frame(index);
    record.run = dtp.run;
    record.user[0] = skipped;
    record.user[1] = records;
    return assembly.put_skip(record, immediate_of(dtp.id, index), now);
  }
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
  Assembly assembly;
  std::uint64_t packet = 0;
  std::int64_t now = 1'000'000'000;
};

}  // namespace rashpa::link::assembled
