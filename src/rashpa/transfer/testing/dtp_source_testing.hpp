// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Frames and a link, for tests of a DTP's source.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "rashpa/link/link.hpp"
#include "rashpa/transfer/dtp_source.hpp"

namespace rashpa::transfer {

inline constexpr std::uint32_t kWidth = 32;
inline constexpr std::uint32_t kHeight = 8;

class Frames final : public FrameSource {
 public:
  /// Makes frames. `known`: frames() reports the 16 distinct frames.
  explicit Frames(bool known = false) : known_(known), pixels_(16, std::vector<std::uint16_t>(kWidth * kHeight)) {
    std::uint16_t value = 1;
    for (auto& frame : pixels_) {
      for (auto& pixel : frame) pixel = value++;
    }
  }
  [[nodiscard]] const std::byte* frame(std::uint64_t n) const noexcept override {
    ++reads;
    return reinterpret_cast<const std::byte*>(pixels_[n % pixels_.size()].data());
  }
  [[nodiscard]] std::uint64_t frames() const noexcept override { return known_ ? pixels_.size() : 0; }
  [[nodiscard]] std::uint32_t flags(std::uint64_t n) const noexcept override {
    return n % 4 == 0 ? FrameRecord::dark : 0U;
  }
  mutable std::uint64_t reads = 0;

 private:
  bool known_;
  std::vector<std::vector<std::uint16_t>> pixels_;
};

/// A link that copies at once, accepts `room` writes between polls, and grants as the test decides.
class CopySender : public link::Sender {
 public:
  explicit CopySender(std::size_t bytes) : memory(bytes) {}
  std::size_t post(std::span<const link::BufferDescriptor> descriptors) override {
    std::size_t taken = 0;
    for (const auto& write : descriptors) {
      if (queued_ == room) break;
      std::memcpy(memory.data() + write.destination, write.source, write.bytes);
      ++queued_;
      ++writes;
      ++taken;
    }
    return taken;
  }
  bool post_event(const link::Event& event) override {
    if (queued_ == 5 || !takes_events) return false;
    records.push_back(*decode_frame_record({event.record, FrameRecord::kBytes}));
    immediates.push_back(event.immediate);
    destinations.push_back(event.destination);
    if (on_event) on_event();
    return true;
  }
  std::size_t poll(std::uint32_t) override {
    polls.fetch_add(1);
    if (on_poll) on_poll(queued_ == 0);
    const std::size_t done = std::min(queued_, at_a_time);
    queued_ -= done;
    return done;
  }
  [[nodiscard]] std::size_t pending() const noexcept override { return queued_; }
  [[nodiscard]] std::uint64_t granted() const noexcept override { return grant.load(); }
  [[nodiscard]] std::uint32_t largest_message() const noexcept override { return 64; }
  [[nodiscard]] link::Endpoint endpoint() const override { return {}; }
  [[nodiscard]] link::Counts stats() const override { return {}; }

  std::vector<std::byte> memory;
  std::vector<FrameRecord> records;
  std::vector<std::uint32_t> immediates;
  std::vector<std::uint64_t> destinations;
  std::size_t room = 5;
  std::size_t writes = 0;
  bool takes_events = true;
  std::size_t at_a_time = 5;  // that a poll finds done
  std::function<void()> on_event;
  std::function<void(bool)> on_poll;  // whether there was nothing to send
  std::atomic<std::uint64_t> grant{link::kUnlimited};
  std::atomic<int> polls{0};

 private:
  std::size_t queued_ = 0;
};

inline DtpSourceConfig source_config(std::uint64_t images) {
  const Placement place{.pixels_offset = 0,
                        .slot_bytes = 1024,
                        .slots = 4,
                        .first_line_offset = 0,
                        .pitch = kWidth * 2,
                        .line_bytes = kWidth * 2,
                        .lines = kHeight,
                        .records_offset = 4096};
  return {.dtp = {.id = 3,
                  .module = 0,
                  .region = {0, 0, kWidth, kHeight},
                  .slice = {2, 1},
                  .images = images,
                  .placement = place,
                  .run = 9},
          .pitch_bytes = kWidth * 2};
}

}  // namespace rashpa::transfer
