// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The processing unit of rtl/, made by Verilator, with its memory.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "card_model.hpp"

class Vunit;

namespace rashpa::sim {

/// One simulated unit. One thread.
class UnitModel {
 public:
  /// `memory`: card memory, a multiple of 4096; outlives the model, may change at any time. Registers begin with random
  /// values made of `seed`.
  explicit UnitModel(std::span<std::byte> memory, const CardTimes& times = {}, std::uint64_t seed = 1);
  ~UnitModel();
  UnitModel(const UnitModel&) = delete;
  UnitModel& operator=(const UnitModel&) = delete;

  /// One AXI-Lite transaction; the rest of the unit goes on meanwhile. False when it answers with an error.
  bool write(std::uint32_t address, std::uint32_t value);
  bool read(std::uint32_t address, std::uint32_t& value);
  /// Some cycles.
  void step(std::uint64_t cycles);
  /// Whether the unit has said since the last call that something has ended.
  [[nodiscard]] bool take_interrupt() noexcept { return std::exchange(interrupt_, false); }
  /// Since the model was made.
  [[nodiscard]] std::uint64_t cycles() const noexcept { return cycles_; }

 private:
  struct Burst {
    std::uint64_t address = 0;
    std::uint32_t beats = 0;
    std::uint64_t due = 0;
  };
  struct Answer {
    std::uint64_t due = 0;
    bool good = true;
  };
  struct Port;  // of reads
  void cycle();
  void serve(Port port, std::deque<Burst>& reads);
  struct WritePort;
  struct Writes {
    std::deque<Burst> bursts;
    std::deque<Answer> answers;
    bool good = true;  // the burst that comes in
  };
  void serve_writes(WritePort port, Writes& writes);
  [[nodiscard]] bool there(std::uint64_t address) const noexcept;

  std::span<std::byte> memory_;
  CardTimes times_;
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vunit> unit_;
  std::uint64_t cycles_ = 0;
  bool interrupt_ = false;
  std::deque<Burst> raw_, low_, high_;
  Writes results_, lists_;
};

}  // namespace rashpa::sim
