// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model of card memory for benches, which checks what AXI4 asks of its master.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "../testing/bench.hpp"

namespace rashpa::rtl {

/// Card memory behind AXI: answers in order, after a while, with pauses.
template <class Model>
class Memory {
 public:
  std::uint64_t refuses = ~0ULL;  ///< the 64 bytes whose read is an error

  /// Answers come `latency` … 2·`latency` cycles later; in `stall` percent of the cycles none comes.
  Memory(std::span<const std::byte> bytes, Random& random, std::uint32_t latency, std::uint32_t stall)
      : bytes_(bytes), random_(random), latency_(latency), stall_(stall) {}
  /// Before an edge: what the memory shows.
  void show(Model& model, std::uint64_t cycle) {
    model.m_axi_arready = reads_.size() < 64 && !random_.chance(stall_ / 2);
    const bool ready = !reads_.empty() && cycle >= reads_.front().due && !random_.chance(stall_);
    model.m_axi_rvalid = ready;
    model.m_axi_rresp = ready && reads_.front().address == refuses ? 2 : 0;
    if (ready) {
      const Read& read = reads_.front();
      put(model.m_axi_rdata, bytes_.subspan(read.address, 64));
      model.m_axi_rlast = read.beats == 1;
    } else {
      for (int i = 0; i < 16; ++i) model.m_axi_rdata[i] = random_.word();
      model.m_axi_rlast = random_.chance(50);
    }
  }
  /// With everything settled, still before the edge: what is taken.
  void take(const Model& model, std::uint64_t cycle) {
    if (model.m_axi_rvalid) {
      Read& read = reads_.front();
      read.address += 64;
      if (--read.beats == 0) reads_.pop_front();
    }
    if (model.m_axi_arvalid && model.m_axi_arready) {
      const Read read{model.m_axi_araddr, model.m_axi_arlen + 1U,
                      cycle + latency_ + (latency_ ? random_(0, latency_) : 0)};
      check(read.address / 4096 == (read.address + 64 * read.beats - 1) / 4096, "a burst crosses 4 KiB at %llx",
            static_cast<unsigned long long>(read.address));
      check(read.address % 64 == 0 && read.address + 64 * read.beats <= bytes_.size(),
            "a burst outside of memory at %llx", static_cast<unsigned long long>(read.address));
      reads_.push_back(read);
    }
    if (asked_ && !accepted_) {
      check(model.m_axi_arvalid != 0 && model.m_axi_araddr == address_, "an address was taken back");
    }
    asked_ = model.m_axi_arvalid != 0;
    accepted_ = model.m_axi_arready != 0;
    address_ = model.m_axi_araddr;
  }

  /// Nothing that was asked for is still to come.
  [[nodiscard]] bool idle() const { return reads_.empty(); }

 private:
  struct Read {
    std::uint64_t address;
    std::uint32_t beats;
    std::uint64_t due;
  };
  std::span<const std::byte> bytes_;
  Random& random_;
  std::uint32_t latency_, stall_;
  std::deque<Read> reads_;
  bool asked_ = false, accepted_ = false;
  std::uint64_t address_ = 0;
};

}  // namespace rashpa::rtl
