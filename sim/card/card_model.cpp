// SPDX-License-Identifier: Apache-2.0
#include "card_model.hpp"

#include <Vsender.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace rashpa::sim {

namespace {
constexpr std::size_t kBeat = 64;
constexpr std::uint32_t kOkay = 0;
constexpr std::uint32_t kSlaveError = 2;
constexpr int kResetCycles = 8;
constexpr int kPatience = 100'000;  // cycles; a transaction takes some ten, a check of the table a thousand
}  // namespace

CardModel::CardModel(std::span<const std::byte> memory, Mac mac, const CardTimes& times, std::uint64_t seed)
    : memory_(memory), mac_(std::move(mac)), times_(times), context_(std::make_unique<VerilatedContext>()) {
  context_->randReset(2);
  context_->randSeed(static_cast<int>(seed));
  sender_ = std::make_unique<Vsender>(context_.get());
  sender_->clk_i = 0;
  sender_->s_axil_awvalid = sender_->s_axil_wvalid = sender_->s_axil_arvalid = 0;
  sender_->s_axil_wstrb = 15;
  sender_->s_axil_bready = sender_->s_axil_rready = 1;
  sender_->m_axi_arready = sender_->m_axi_rvalid = 0;
  sender_->m_axis_tready = sender_->s_axis_tvalid = 0;
  sender_->rst_ni = 0;
  // Until then its outputs mean nothing: nobody around it listens.
  for (int i = 0; i < kResetCycles; ++i) {
    sender_->clk_i = 1;
    sender_->eval();
    sender_->clk_i = 0;
    sender_->eval();
  }
  sender_->rst_ni = 1;
}

CardModel::~CardModel() { sender_->final(); }

/// Outputs are those behind the last edge, none of them follows an input of the same cycle; inputs are set for the edge
/// that comes, at which what is valid and ready is taken.
void CardModel::cycle() {
  serve_memory();
  serve_mac();
  bring_frames();
  sender_->clk_i = 1;
  sender_->eval();
  sender_->clk_i = 0;
  sender_->eval();
  interrupt_ |= sender_->interrupt_o != 0;
  ++cycles_;
}

void CardModel::serve_memory() {
  Vsender& sender = *sender_;
  sender.m_axi_arready = reads_.size() < times_.memory_reads;
  if (sender.m_axi_arvalid && sender.m_axi_arready) {
    reads_.push_back({sender.m_axi_araddr, sender.m_axi_arlen + 1U, cycles_ + times_.memory_latency});
  }
  sender.m_axi_rvalid = !reads_.empty() && reads_.front().due <= cycles_;
  if (sender.m_axi_rvalid) {
    Read& read = reads_.front();
    const bool there = read.address + kBeat <= memory_.size();
    sender.m_axi_rresp = there ? kOkay : kSlaveError;
    if (there) std::memcpy(sender.m_axi_rdata.data(), memory_.data() + read.address, kBeat);
    sender.m_axi_rlast = read.beats == 1;
    read.address += kBeat;
    if (--read.beats == 0) reads_.pop_front();
  }
}

void CardModel::serve_mac() {
  Vsender& sender = *sender_;
  if (whole_ && mac_(leaving_)) {
    leaving_.clear();
    whole_ = false;
  }
  sender.m_axis_tready = !whole_;
  if (!sender.m_axis_tvalid || whole_) return;
  const auto bytes = static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(sender.m_axis_tkeep)));
  const auto* data = reinterpret_cast<const std::byte*>(sender.m_axis_tdata.data());
  leaving_.insert(leaving_.end(), data, data + bytes);
  whole_ = sender.m_axis_tlast != 0;
}

void CardModel::bring_frames() {
  Vsender& sender = *sender_;
  sender.s_axis_tvalid = !coming_.empty();
  if (coming_.empty()) return;
  const auto& frame = coming_.front();
  const std::size_t bytes = std::min(kBeat, frame.size() - came_);
  std::memset(sender.s_axis_tdata.data(), 0, kBeat);
  std::memcpy(sender.s_axis_tdata.data(), frame.data() + came_, bytes);
  sender.s_axis_tkeep = bytes == kBeat ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1;
  came_ += bytes;
  sender.s_axis_tlast = came_ == frame.size();
  if (sender.s_axis_tlast) {
    coming_.pop_front();
    came_ = 0;
  }
}

void CardModel::step(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) cycle();
}

void CardModel::receive(std::span<const std::byte> frame) {
  if (!frame.empty()) coming_.emplace_back(frame.begin(), frame.end());
}

bool CardModel::write(std::uint32_t address, std::uint32_t value) {
  Vsender& sender = *sender_;
  sender.s_axil_awaddr = static_cast<std::uint16_t>(address);
  sender.s_axil_wdata = value;
  sender.s_axil_awvalid = sender.s_axil_wvalid = 1;
  sender.eval();
  for (int i = 0; i < kPatience; ++i) {
    const bool address_taken = sender.s_axil_awvalid && sender.s_axil_awready;
    const bool data_taken = sender.s_axil_wvalid && sender.s_axil_wready;
    const bool answered = sender.s_axil_bvalid != 0;
    const std::uint32_t answer = sender.s_axil_bresp;
    cycle();
    if (address_taken) sender.s_axil_awvalid = 0;
    if (data_taken) sender.s_axil_wvalid = 0;
    if (answered) return answer == kOkay;
    sender.eval();
  }
  return false;
}

bool CardModel::read(std::uint32_t address, std::uint32_t& value) {
  Vsender& sender = *sender_;
  sender.s_axil_araddr = static_cast<std::uint16_t>(address);
  sender.s_axil_arvalid = 1;
  sender.eval();
  for (int i = 0; i < kPatience; ++i) {
    const bool taken = sender.s_axil_arvalid && sender.s_axil_arready;
    const bool answered = sender.s_axil_rvalid != 0;
    const std::uint32_t answer = sender.s_axil_rresp;
    value = sender.s_axil_rdata;
    cycle();
    if (taken) sender.s_axil_arvalid = 0;
    if (answered) return answer == kOkay;
    sender.eval();
  }
  return false;
}

}  // namespace rashpa::sim
