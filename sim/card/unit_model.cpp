// SPDX-License-Identifier: Apache-2.0
#include "unit_model.hpp"

#include <Vunit.h>

#include <cstring>

namespace rashpa::sim {

namespace {
constexpr std::size_t kBeat = 64;
constexpr std::uint32_t kOkay = 0;
constexpr std::uint32_t kSlaveError = 2;
constexpr int kResetCycles = 8;
constexpr int kPatience = 100'000;  // cycles; a transaction takes some ten
}  // namespace

struct UnitModel::Port {
  const CData& arvalid;
  CData& arready;
  const QData& araddr;
  const CData& arlen;
  CData& rvalid;
  VlWide<16>& rdata;
  CData& rresp;
  CData* rlast = nullptr;
};

struct UnitModel::WritePort {
  const CData& awvalid;
  CData& awready;
  const QData& awaddr;
  const CData& awlen;
  const CData& wvalid;
  CData& wready;
  const VlWide<16>& wdata;
  CData& bvalid;
  CData& bresp;
};

UnitModel::UnitModel(std::span<std::byte> memory, const CardTimes& times, std::uint64_t seed)
    : memory_(memory), times_(times), context_(std::make_unique<VerilatedContext>()) {
  context_->randReset(2);
  context_->randSeed(static_cast<int>(seed));
  unit_ = std::make_unique<Vunit>(context_.get());
  Vunit& unit = *unit_;
  unit.clk_i = 0;
  unit.s_axil_awvalid = unit.s_axil_wvalid = unit.s_axil_arvalid = 0;
  unit.s_axil_wstrb = 15;
  unit.s_axil_bready = unit.s_axil_rready = 1;
  unit.m_axi_raw_rvalid = unit.m_axi_low_rvalid = unit.m_axi_high_rvalid = unit.m_axi_bvalid = 0;
  unit.m_axi_raw_arready = unit.m_axi_low_arready = unit.m_axi_high_arready = 0;
  unit.m_axi_awready = unit.m_axi_wready = 0;
  unit.m_axi_list_awready = unit.m_axi_list_wready = unit.m_axi_list_bvalid = 0;
  unit.rst_ni = 0;
  // Until then its outputs mean nothing: nobody around it listens.
  for (int i = 0; i < kResetCycles; ++i) {
    unit.clk_i = 1;
    unit.eval();
    unit.clk_i = 0;
    unit.eval();
  }
  unit.rst_ni = 1;
}

UnitModel::~UnitModel() { unit_->final(); }

bool UnitModel::there(std::uint64_t address) const noexcept { return address + kBeat <= memory_.size(); }

/// Inputs are set for the edge that comes, at which what is valid and ready is taken.
void UnitModel::cycle() {
  Vunit& unit = *unit_;
  serve({unit.m_axi_raw_arvalid, unit.m_axi_raw_arready, unit.m_axi_raw_araddr, unit.m_axi_raw_arlen,
         unit.m_axi_raw_rvalid, unit.m_axi_raw_rdata, unit.m_axi_raw_rresp, &unit.m_axi_raw_rlast},
        raw_);
  serve({unit.m_axi_low_arvalid, unit.m_axi_low_arready, unit.m_axi_low_araddr, unit.m_axi_low_arlen,
         unit.m_axi_low_rvalid, unit.m_axi_low_rdata, unit.m_axi_low_rresp},
        low_);
  serve({unit.m_axi_high_arvalid, unit.m_axi_high_arready, unit.m_axi_high_araddr, unit.m_axi_high_arlen,
         unit.m_axi_high_rvalid, unit.m_axi_high_rdata, unit.m_axi_high_rresp},
        high_);
  serve_writes({unit.m_axi_awvalid, unit.m_axi_awready, unit.m_axi_awaddr, unit.m_axi_awlen, unit.m_axi_wvalid,
                unit.m_axi_wready, unit.m_axi_wdata, unit.m_axi_bvalid, unit.m_axi_bresp},
               results_);
  serve_writes({unit.m_axi_list_awvalid, unit.m_axi_list_awready, unit.m_axi_list_awaddr, unit.m_axi_list_awlen,
                unit.m_axi_list_wvalid, unit.m_axi_list_wready, unit.m_axi_list_wdata, unit.m_axi_list_bvalid,
                unit.m_axi_list_bresp},
               lists_);
  unit.clk_i = 1;
  unit.eval();
  unit.clk_i = 0;
  unit.eval();
  interrupt_ |= unit.interrupt_o != 0;
  ++cycles_;
}

void UnitModel::serve(Port port, std::deque<Burst>& reads) {
  port.arready = reads.size() < times_.memory_reads;
  if (port.arvalid && port.arready) {
    reads.push_back({port.araddr, port.arlen + 1U, cycles_ + times_.memory_latency});
  }
  port.rvalid = !reads.empty() && reads.front().due <= cycles_;
  if (!port.rvalid) return;
  Burst& read = reads.front();
  port.rresp = there(read.address) ? kOkay : kSlaveError;
  if (there(read.address)) std::memcpy(port.rdata.data(), memory_.data() + read.address, kBeat);
  if (port.rlast != nullptr) *port.rlast = read.beats == 1;
  read.address += kBeat;
  if (--read.beats == 0) reads.pop_front();
}

void UnitModel::serve_writes(WritePort port, Writes& writes) {
  port.awready = writes.bursts.size() < times_.memory_reads;
  if (port.awvalid && port.awready) writes.bursts.push_back({port.awaddr, port.awlen + 1U, 0});
  port.wready = !writes.bursts.empty();
  if (port.wvalid && port.wready) {
    Burst& burst = writes.bursts.front();
    const bool good = there(burst.address);
    if (good) std::memcpy(memory_.data() + burst.address, port.wdata.data(), kBeat);
    writes.good = writes.good && good;
    burst.address += kBeat;
    if (--burst.beats == 0) {
      writes.answers.push_back({cycles_ + times_.memory_latency, std::exchange(writes.good, true)});
      writes.bursts.pop_front();
    }
  }
  port.bvalid = !writes.answers.empty() && writes.answers.front().due <= cycles_;
  if (!port.bvalid) return;
  port.bresp = writes.answers.front().good ? kOkay : kSlaveError;
  writes.answers.pop_front();
}

void UnitModel::step(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) cycle();
}

bool UnitModel::write(std::uint32_t address, std::uint32_t value) {
  Vunit& unit = *unit_;
  unit.s_axil_awaddr = static_cast<std::uint16_t>(address);
  unit.s_axil_wdata = value;
  unit.s_axil_awvalid = unit.s_axil_wvalid = 1;
  unit.eval();
  for (int i = 0; i < kPatience; ++i) {
    const bool address_taken = unit.s_axil_awvalid && unit.s_axil_awready;
    const bool data_taken = unit.s_axil_wvalid && unit.s_axil_wready;
    const bool answered = unit.s_axil_bvalid != 0;
    const std::uint32_t answer = unit.s_axil_bresp;
    cycle();
    if (address_taken) unit.s_axil_awvalid = 0;
    if (data_taken) unit.s_axil_wvalid = 0;
    if (answered) return answer == kOkay;
    unit.eval();
  }
  return false;
}

bool UnitModel::read(std::uint32_t address, std::uint32_t& value) {
  Vunit& unit = *unit_;
  unit.s_axil_araddr = static_cast<std::uint16_t>(address);
  unit.s_axil_arvalid = 1;
  unit.eval();
  for (int i = 0; i < kPatience; ++i) {
    const bool taken = unit.s_axil_arvalid && unit.s_axil_arready;
    const bool answered = unit.s_axil_rvalid != 0;
    const std::uint32_t answer = unit.s_axil_rresp;
    value = unit.s_axil_rdata;
    cycle();
    if (taken) unit.s_axil_arvalid = 0;
    if (answered) return answer == kOkay;
    unit.eval();
  }
  return false;
}

}  // namespace rashpa::sim
