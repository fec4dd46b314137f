// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Card memory as the unit's benches have it: AXI4 ports that answer late and pause, and that check what they are
/// asked.
#include <cstring>
#include <deque>

#include "testing/bench.hpp"

namespace rashpa::rtl {

/// How memory behaves.
struct MemoryTimes {
  std::uint32_t least = 1, most = 20;  ///< cycles from an address to its first beat
  std::uint32_t pauses = 10;           ///< percent of cycles without a beat, or without taking one
  std::uint32_t bursts = 16;           ///< taken before they are answered
};

constexpr std::size_t kBeatBytes = 64;
constexpr std::uint64_t kBorder = 4096;

struct ReadSignals {
  const CData& arvalid;
  CData& arready;
  const QData& araddr;
  const CData& arlen;
  CData& rvalid;
  Beat& rdata;
  CData& rresp;
  CData* rlast = nullptr;
};

/// Answers in order. An address beyond memory, or `bad_page`, is answered with an error.
class ReadPort {
 public:
  ReadPort(ReadSignals signals, std::span<const std::byte> memory) : signals_(signals), memory_(memory) {}
  /// Before an edge.
  void serve(const MemoryTimes& times, Random& random, std::uint64_t now) {
    signals_.arready = bursts_.size() < times.bursts && !random.chance(times.pauses);
    if (signals_.arvalid && signals_.arready) {
      const std::uint64_t address = signals_.araddr;
      const std::uint32_t beats = signals_.arlen + 1U;
      check(address / kBorder == (address + beats * kBeatBytes - 1) / kBorder, "a read of %u beats at %llx", beats,
            static_cast<unsigned long long>(address));
      bursts_.push_back({address, beats, now + random(times.least, times.most)});
    }
    signals_.rvalid = !bursts_.empty() && bursts_.front().due <= now && !random.chance(times.pauses);
    if (!signals_.rvalid) return;
    Burst& burst = bursts_.front();
    const bool good = burst.address + kBeatBytes <= memory_.size() && burst.address / kBorder != bad_page;
    signals_.rresp = good ? 0 : 2;
    if (good) std::memcpy(signals_.rdata.data(), memory_.data() + burst.address, kBeatBytes);
    burst.address += kBeatBytes;
    if (signals_.rlast != nullptr) *signals_.rlast = burst.beats == 1;
    if (--burst.beats == 0) bursts_.pop_front();
  }
  [[nodiscard]] bool idle() const { return bursts_.empty(); }
  std::uint64_t bad_page = ~std::uint64_t{0};

 private:
  struct Burst {
    std::uint64_t address;
    std::uint32_t beats;
    std::uint64_t due;
  };
  ReadSignals signals_;
  std::span<const std::byte> memory_;
  std::deque<Burst> bursts_;
};

struct WriteSignals {
  const CData& awvalid;
  CData& awready;
  const QData& awaddr;
  const CData& awlen;
  const CData& wvalid;
  CData& wready;
  const Beat& wdata;
  const CData& wlast;
  CData& bvalid;
  CData& bresp;
};

/// Acknowledges in order. Data may come before their address.
class WritePort {
 public:
  WritePort(WriteSignals signals, std::span<std::byte> memory) : signals_(signals), memory_(memory) {}
  void serve(const MemoryTimes& times, Random& random, std::uint64_t now) {
    signals_.awready = bursts_.size() < times.bursts && !random.chance(times.pauses);
    if (signals_.awvalid && signals_.awready) {
      const std::uint64_t address = signals_.awaddr;
      const std::uint32_t beats = signals_.awlen + 1U;
      check(address / kBorder == (address + beats * kBeatBytes - 1) / kBorder, "a write of %u beats at %llx", beats,
            static_cast<unsigned long long>(address));
      bursts_.push_back({address, beats});
    }
    signals_.wready = !bursts_.empty() && !random.chance(times.pauses);
    if (signals_.wvalid && signals_.wready) {
      Burst& burst = bursts_.front();
      const bool good = burst.address + kBeatBytes <= memory_.size() && burst.address / kBorder != bad_page;
      if (good) std::memcpy(memory_.data() + burst.address, signals_.wdata.data(), kBeatBytes);
      burst.address += kBeatBytes;
      burst.good &= good;
      --burst.beats;
      check((burst.beats == 0) == (signals_.wlast != 0), "WLAST with %u beats to come", burst.beats);
      if (burst.beats == 0) {
        answers_.push_back({now + random(times.least, times.most), burst.good});
        bursts_.pop_front();
      }
    }
    signals_.bvalid = !answers_.empty() && answers_.front().due <= now;
    if (!signals_.bvalid) return;
    signals_.bresp = answers_.front().good ? 0 : 2;
    answers_.pop_front();
  }
  [[nodiscard]] bool idle() const { return bursts_.empty() && answers_.empty(); }
  std::uint64_t bad_page = ~std::uint64_t{0};

 private:
  struct Burst {
    std::uint64_t address;
    std::uint32_t beats;
    bool good = true;
  };
  struct Answer {
    std::uint64_t due;
    bool good;
  };
  WriteSignals signals_;
  std::span<std::byte> memory_;
  std::deque<Burst> bursts_;
  std::deque<Answer> answers_;
};

}  // namespace rashpa::rtl
