// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sender of rtl/, made by Verilator, with its memory and a MAC: what a card is, cycle by cycle.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

class Vsender;
class VerilatedContext;

namespace rashpa::sim {

/// How the things around the sender behave, in cycles.
struct CardTimes {
  std::uint32_t memory_latency = 40;  ///< from an address to its first beat
  std::uint32_t memory_reads = 64;    ///< addresses that memory takes before it has answered
};

/// One simulated card. One thread.
class CardModel {
 public:
  /// Takes a frame without FCS; valid during the call. False: not now, it is given again.
  using Mac = std::function<bool(std::span<const std::byte>)>;

  /// `memory`: card memory, at least 64 bytes and a multiple of 64; outlives the model, may change at any time.
  /// Registers begin with random values made of `seed`.
  CardModel(std::span<const std::byte> memory, Mac mac, const CardTimes& times = {}, std::uint64_t seed = 1);
  ~CardModel();
  CardModel(const CardModel&) = delete;
  CardModel& operator=(const CardModel&) = delete;

  /// One AXI-Lite transaction; the rest of the card goes on meanwhile. False when the card answers with an error.
  bool write(std::uint32_t address, std::uint32_t value);
  bool read(std::uint32_t address, std::uint32_t& value);
  /// Some cycles.
  void step(std::uint64_t cycles);
  /// A frame without FCS comes in from the network.
  void receive(std::span<const std::byte> frame);
  /// Whether the card has said since the last call that something has ended.
  [[nodiscard]] bool take_interrupt() noexcept { return std::exchange(interrupt_, false); }
  /// Nothing is on its way between the sender and what is around it.
  [[nodiscard]] bool idle() const noexcept { return coming_.empty() && reads_.empty() && leaving_.empty(); }
  /// Since the model was made.
  [[nodiscard]] std::uint64_t cycles() const noexcept { return cycles_; }

 private:
  struct Read {
    std::uint64_t address = 0;
    std::uint32_t beats = 0;
    std::uint64_t due = 0;
  };
  void cycle();
  void serve_memory();
  void serve_mac();
  void bring_frames();

  std::span<const std::byte> memory_;
  Mac mac_;
  CardTimes times_;
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vsender> sender_;
  std::uint64_t cycles_ = 0;
  bool interrupt_ = false;
  std::deque<Read> reads_;
  std::vector<std::byte> leaving_;  // a frame, as far as it is out
  bool whole_ = false;              // it waits for the network
  std::deque<std::vector<std::byte>> coming_;
  std::size_t came_ = 0;  // bytes of the first of them
};

}  // namespace rashpa::sim
