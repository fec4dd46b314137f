// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A lane with a unit that returns stacks at once and a link that records its orders, for tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/scheduler/lane.hpp"

namespace rashpa::scheduler::testing {

inline constexpr std::int64_t kDeadline = 1'000'000;

/// A unit that returns stacks at once, in order.
class EchoUnit : public unit::Unit {
 public:
  void submit(Stack* stack) noexcept override { stacks.push_back(stack); }
  Stack* take() noexcept override { return nullptr; }
  void stop() noexcept override {}
  [[nodiscard]] const unit::Output& output() const noexcept override { return output_; }
  [[nodiscard]] std::string how() const override { return "test"; }
  [[nodiscard]] std::optional<unit::Busy> busy() const override { return {}; }
  std::vector<Stack*> stacks;

 private:
  unit::Output output_;
};

/// A link that records its orders.
class RecordingLink final : public link::Receiver, public link::Watching {
 public:
  explicit RecordingLink(bool sources_write = true) : direct(sources_write) {}
  void start() override {}
  void release(std::uint32_t dtp, std::uint64_t end) noexcept override { released.at(dtp) = end; }
  void close(std::uint32_t dtp, std::uint64_t end) noexcept override { closed.at(dtp) = end; }
  void stop() noexcept override {}
  [[nodiscard]] std::vector<link::Endpoint> endpoints() const override { return {}; }
  void connect(std::span<const link::Endpoint> /*senders*/) override {}
  [[nodiscard]] link::Counts stats() const override { return {}; }
  [[nodiscard]] bool overwritten(std::uint32_t dtp, std::uint64_t index) const noexcept override {
    return dtp == 1 && std::find(spoilt.begin(), spoilt.end(), index) != spoilt.end();
  }
  [[nodiscard]] bool sources_write() const noexcept override { return direct; }
  bool direct;
  std::vector<std::uint64_t> spoilt;  // images of DTP 1
  std::vector<std::uint64_t> released = std::vector<std::uint64_t>(4);
  std::vector<std::atomic<std::uint64_t>> closed = std::vector<std::atomic<std::uint64_t>>(4);
};

struct Bench {
  explicit Bench(std::uint64_t images = 12, std::uint32_t dtps = 2, bool direct = true)
      : memory(8UL * 1024), link(direct), lane(config(images, dtps, memory), unit, link) {}

  static LaneConfig config(std::uint64_t images, std::uint32_t dtps, std::vector<std::byte>& memory) {
    LaneConfig config{.name = "full",
                      .memory = memory.data(),
                      .slot_bytes = 1024,
                      .slots = 8,
                      .stack = 4,
                      .images = images,
                      .slice = {3, 1},
                      .deadline_ns = kDeadline,
                      .dtps = {}};
    for (std::uint32_t d = 0; d < dtps; ++d) {
      config.dtps.push_back({.position = d,
                             .id = 10 + d,
                             .module = d,
                             .placement = {.slot_bytes = 1024,
                                           .slots = 8,
                                           .first_line_offset = d * 512ULL,
                                           .pitch = 64,
                                           .line_bytes = 64,
                                           .lines = 8}});
    }
    return config;
  }
  static link::Arrival good(std::uint32_t dtp, std::uint64_t index) {
    link::Arrival arrival{
        .dtp = dtp, .index = index, .completeness = Completeness::complete, .proof = link::Proof::crc};
    arrival.record.flags = dtp == 0 ? 1U : 2U;
    arrival.record.timestamp_ns = 1000 + index;
    arrival.last_packet_ns = 50;
    return arrival;
  }
  /// Returns the arrival with the source's CRC32C of the image that is now in the slot.
  [[nodiscard]] link::Arrival with_checksum(link::Arrival arrival) const {
    const std::size_t half = memory.size() / 16;
    arrival.record.payload_bytes = half;
    arrival.record.payload_crc32c = crc32c({memory.data() + (arrival.index % 8 * 2 + arrival.dtp) * half, half});
    return arrival;
  }
  static link::Arrival lost(std::uint32_t dtp, std::uint64_t index, link::Loss loss) {
    return {.dtp = dtp, .index = index, .completeness = Completeness::missing, .loss = loss, .lines_missing = 8};
  }
  void give(const link::Arrival& arrival, std::int64_t now = 100) {
    ASSERT_TRUE(lane.can_take(arrival));
    lane.take(arrival.dtp, arrival, now);
  }
  void finish_stack() { lane.release(*unit.stacks.back()); }

  std::vector<std::byte> memory;
  EchoUnit unit;
  RecordingLink link;
  Lane lane;

 protected:
  Bench(std::uint64_t images, std::uint32_t dtps, End end)
      : memory(8UL * 1024), lane(ending(images, dtps, end), unit, link) {}
  explicit Bench(std::chrono::nanoseconds quiet) : memory(8UL * 1024), lane(waiting(quiet.count()), unit, link) {}
  Bench(std::uint64_t images, std::uint32_t dtps, const Slice& slice)
      : memory(8UL * 1024), lane(of(images, dtps, slice), unit, link) {}

 private:
  LaneConfig of(std::uint64_t images, std::uint32_t dtps, const Slice& slice) {
    LaneConfig config = Bench::config(images, dtps, memory);
    config.slice = slice;
    return config;
  }
  LaneConfig waiting(std::int64_t quiet_ns) {
    LaneConfig config = Bench::config(12, 2, memory);
    config.quiet_ns = quiet_ns;
    return config;
  }
  LaneConfig ending(std::uint64_t images, std::uint32_t dtps, End end) {
    LaneConfig config = Bench::config(images, dtps, memory);
    config.end = end;
    return config;
  }
};

}  // namespace rashpa::scheduler::testing
