// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model of the host's memory for benches, which checks what AXI4 asks of the master that writes, and shows a write
/// only when it answers it.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "../testing/bench.hpp"

namespace rashpa::rtl {

/// Memory behind AXI: answers in order, after a while, with pauses.
template <class Model>
class HostMemory {
 public:
  struct Beat {
    std::uint64_t address;  ///< of lane 0
    std::array<std::byte, 64> data;
    std::uint64_t strobe;
  };
  std::function<void(const Beat&)> taken;    ///< a beat comes with its burst's address: it is not visible yet
  std::function<void(const Beat&)> written;  ///< it becomes visible, as its burst is answered
  std::uint64_t refuses = ~0ULL;             ///< number of the burst that is answered by an error, and not written
  std::vector<Beat> refused{};               ///< its beats, once it was answered
  static constexpr std::size_t kMost = 128;  ///< bursts under way

  /// Answers come `latency` … 2·`latency` cycles later; in `stall` percent of the cycles nothing is taken or answered.
  HostMemory(Random& random, std::uint32_t latency, std::uint32_t stall)
      : random_(random), latency_(latency), stall_(stall) {}

  /// Before an edge: what the memory shows.
  void show(Model& model, std::uint64_t cycle) {
    model.m_axi_awready = !random_.chance(stall_);
    model.m_axi_wready = beats_.size() < 256 && !random_.chance(stall_);
    const bool answers = !answers_.empty() && cycle >= answers_.front().due && !random_.chance(stall_);
    model.m_axi_bvalid = answers;
    model.m_axi_bresp = answers ? (answers_.front().number == refuses ? 2 : 0) : random_(0, 3);
  }
  /// With everything settled, still before the edge: what is taken.
  void take(const Model& model, std::uint64_t cycle) {
    if (model.m_axi_bvalid) answer();
    held(model);
    if (model.m_axi_awvalid && model.m_axi_awready) {
      const std::uint64_t address = model.m_axi_awaddr;
      const std::uint32_t beats = model.m_axi_awlen + 1U;
      check(address % 64 == 0 && address / 4096 == (address + 64ULL * beats - 1) / 4096,
            "a burst crosses 4 KiB at %llx", static_cast<unsigned long long>(address));
      addresses_.push_back({address, beats});
      check(addresses_.size() + answers_.size() <= kMost, "more than %zu bursts are under way", kMost);
    }
    if (model.m_axi_wvalid && model.m_axi_wready) {
      beats_.push_back({0, bytes_of(model.m_axi_wdata), model.m_axi_wstrb});
      lasts_.push_back(model.m_axi_wlast != 0);
    }
    match(cycle);
  }
  [[nodiscard]] bool idle() const { return addresses_.empty() && beats_.empty() && answers_.empty(); }
  [[nodiscard]] std::uint64_t bursts() const { return number_; }

 private:
  struct Address {
    std::uint64_t at;
    std::uint32_t beats;
  };
  struct Answer {
    std::uint64_t number, due;
    std::vector<Beat> beats;
  };

  void answer() {
    for (const Beat& beat : answers_.front().beats) {
      if (answers_.front().number != refuses) written(beat);
    }
    if (answers_.front().number == refuses) refused = answers_.front().beats;
    answers_.pop_front();
  }
  void held(const Model& model) {
    if (address_held_) check(model.m_axi_awvalid && model.m_axi_awaddr == address_, "an address was taken back");
    if (beat_held_) check(model.m_axi_wvalid && model.m_axi_wstrb == strobe_, "a beat was taken back");
    address_held_ = model.m_axi_awvalid && !model.m_axi_awready;
    beat_held_ = model.m_axi_wvalid && !model.m_axi_wready;
    address_ = model.m_axi_awaddr;
    strobe_ = model.m_axi_wstrb;
  }
  // Beats and addresses come when they like, each in order.
  void match(std::uint64_t cycle) {
    while (!addresses_.empty() && !beats_.empty()) {
      Address& address = addresses_.front();
      Beat beat = beats_.front();
      beat.address = address.at;
      burst_.push_back(beat);
      taken(beat);
      --address.beats;
      check(lasts_.front() == (address.beats == 0), "the last beat of a burst is not the last of its address");
      address.at += 64;
      beats_.pop_front();
      lasts_.pop_front();
      if (address.beats != 0) continue;
      addresses_.pop_front();
      answers_.push_back({number_++, cycle + 1 + latency_ + (latency_ ? random_(0, latency_) : 0), std::move(burst_)});
      burst_.clear();
    }
  }

  Random& random_;
  std::uint32_t latency_, stall_;
  std::deque<Address> addresses_;
  std::deque<Beat> beats_;
  std::deque<bool> lasts_;
  std::vector<Beat> burst_;
  std::deque<Answer> answers_;
  std::uint64_t number_ = 0, address_ = 0, strobe_ = 0;
  bool address_held_ = false, beat_held_ = false;
};

/// Bytes of the host that a DTP may write: their offset as the card knows it, and their address.
struct Window {
  std::uint64_t begin, end;
  std::uint64_t address;
  std::vector<std::byte> bytes;  ///< as the host sees them

  [[nodiscard]] bool has(std::uint64_t at) const { return at >= address && at - address < bytes.size(); }
};

/// Writes entry `entry` of the card's table of addresses: `cycle()` is called for each word.
template <class Model, class Cycle>
void write_entry(Model& model, std::uint32_t dtp, std::uint32_t entry, std::uint64_t begin, std::uint64_t end,
                 std::uint64_t address, const Cycle& cycle) {
  const std::uint64_t shift = address - begin;
  const std::array<std::uint64_t, 3> values{begin, end, shift};
  for (std::uint32_t w = 0; w < 6; ++w) {
    const auto word = static_cast<std::uint32_t>(values[w / 2] >> (w % 2 * 32));
    model.addresses_i = 1ULL << 43 | std::uint64_t{dtp} << 39 | std::uint64_t{6 * entry + w} << 32 | word;
    cycle();
  }
  model.addresses_i = 0;
}

/// Writes the offset of the DTP's lock word.
template <class Model, class Cycle>
void write_lock_offset(Model& model, std::uint32_t dtp, std::uint64_t offset, const Cycle& cycle) {
  constexpr std::uint32_t kLock = 24;
  for (std::uint32_t w = 0; w < 2; ++w) {
    const auto word = static_cast<std::uint32_t>(offset >> (w * 32));
    model.addresses_i = 1ULL << 43 | std::uint64_t{dtp} << 39 | std::uint64_t{kLock + w} << 32 | word;
    cycle();
  }
  model.addresses_i = 0;
}

}  // namespace rashpa::rtl
