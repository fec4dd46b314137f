// SPDX-License-Identifier: Apache-2.0
// The whole sender by its registers, as a driver uses it: runs of random DTPs with credits from doorbells and from the
// wire, faults on order, pushed descriptors, errors, skipped images, frames that are no credits; counters of all this.
// build: -GFaults=1'b1 -GMemoryMiB=64
#include <algorithm>
#include <bit>
#include <deque>
#include <optional>

#include "../testing/structs.hpp"
#include "../testing/table.hpp"
#include "Vsender.h"
#include "card_memory.hpp"
#include "software.hpp"

namespace rashpa::rtl {
namespace {

namespace reg = card::registers;
constexpr std::uint32_t kGrantedByWire = 0x5A5A0000;  // key of the credit words, and the DTP's number
constexpr std::uint8_t kRefused = 2;                  // SLVERR
constexpr std::uint64_t kMost = 2'000'000;            // cycles of a run

/// The card, its memory and its MAC, a cycle after the other.
class Card {
 public:
  explicit Card(std::uint64_t seed) : sender_(seed), random_(seed) {
    Vsender& s = *sender_;
    s.s_axil_awvalid = s.s_axil_wvalid = s.s_axil_arvalid = s.s_axis_tvalid = 0;
    s.m_axi_arready = s.m_axi_rvalid = s.m_axis_tready = 0;
    s.s_axil_wstrb = 15;
    s.s_axil_bready = s.s_axil_rready = 1;
    sender_.reset(8);
  }

  Random& random() { return random_; }
  [[nodiscard]] std::uint64_t cycles() const { return sender_.cycles(); }
  std::vector<Bytes> frames;      // that left
  std::uint32_t slow = 0;         // percent of the cycles in which the MAC takes nothing
  std::uint64_t refuses = ~0ULL;  // the address whose read is an error

  void memory(std::span<const std::byte> bytes, std::uint32_t latency, std::uint32_t stall) {
    memory_.emplace(bytes, random_, latency, stall);
  }
  void receive(Bytes frame) { coming_.push_back(std::move(frame)); }
  void write(std::uint32_t address, std::uint32_t value) {
    Vsender& s = *sender_;
    s.s_axil_awaddr = static_cast<std::uint16_t>(address);
    s.s_axil_wdata = value;
    s.s_axil_awvalid = s.s_axil_wvalid = 1;
    for (int i = 0; i < 5000; ++i) {
      s.eval();
      const bool address_taken = s.s_axil_awready, data_taken = s.s_axil_wready, answered = s.s_axil_bvalid;
      const std::uint32_t answer = s.s_axil_bresp;
      cycle();
      if (address_taken) s.s_axil_awvalid = 0;
      if (data_taken) s.s_axil_wvalid = 0;
      if (!answered) continue;
      check(answer == 0, "a write of %08x to %04x is refused", value, address);
      return;
    }
    check(false, "a write to %04x has no answer", address);
  }
  std::uint32_t read(std::uint32_t address) {
    Vsender& s = *sender_;
    s.s_axil_araddr = static_cast<std::uint16_t>(address);
    s.s_axil_arvalid = 1;
    for (int i = 0; i < 5000; ++i) {
      s.eval();
      const bool taken = s.s_axil_arready, answered = s.s_axil_rvalid;
      const std::uint32_t value = s.s_axil_rdata;
      cycle();
      if (taken) s.s_axil_arvalid = 0;
      if (answered) return value;
    }
    check(false, "a read of %04x has no answer", address);
    return 0;
  }
  reg::State state() { return static_cast<reg::State>(read(reg::status::kState)); }
  std::uint64_t counter(std::uint32_t address) { return read(address) | std::uint64_t{read(address + 4)} << 32U; }
  void table(std::uint32_t dtp, const reg::DtpTable& table) {
    const auto words = words_of(table);
    for (std::uint32_t w = 0; w < words.size(); ++w) write(reg::dtp_table::at(dtp) + 4 * w, words[w]);
  }
  /// Arm, and Start when that has gone well.
  void begin() {
    frames.clear();
    write(reg::doorbells::kArm, ++arms_);
    for (int i = 0; i < 50 && read(reg::status::kArmDone) != arms_; ++i) run(100);
    check(state() == reg::State::armed, "not armed: error %08x", read(reg::status::kError));
    armed_ = interrupts_;
    write(reg::doorbells::kStart, ++starts_);
  }
  void abort() { write(reg::doorbells::kAbort, ++aborts_); }
  void run(std::uint64_t cycles) {
    for (std::uint64_t i = 0; i < cycles; ++i) cycle();
  }
  /// What the run that has been started ends with.
  reg::State ended() {
    const std::uint64_t begin = cycles();
    while (interrupts_ == armed_ && cycles() - begin < kMost) cycle();
    check(interrupts_ > armed_, "the run does not end");
    return state();
  }

 private:
  void cycle() {
    Vsender& s = *sender_;
    if (memory_) memory_->show(s, sender_.cycles());
    s.m_axis_tready = !random_.chance(slow);
    bring();
    if (s.m_axi_rvalid) s.m_axi_rresp = answers_.front();
    s.eval();
    if (s.m_axi_rvalid) answers_.pop_front();
    if (s.m_axi_arvalid && s.m_axi_arready) {
      answers_.push_back(s.m_axi_araddr == refuses ? kRefused : 0);
      answers_.insert(answers_.end(), s.m_axi_arlen, 0);
    }
    if (memory_) memory_->take(s, sender_.cycles());
    if (inside_) check(s.m_axis_tvalid != 0, "a gap inside a frame");
    if (s.m_axis_tvalid && s.m_axis_tready) {
      const auto beat = bytes_of(s.m_axis_tdata);
      const int bytes = std::popcount(static_cast<std::uint64_t>(s.m_axis_tkeep));
      frame_.insert(frame_.end(), beat.begin(), beat.begin() + bytes);
      inside_ = s.m_axis_tlast == 0;
      if (!inside_) frames.push_back(std::exchange(frame_, {}));
    }
    sender_.cycle();
    interrupts_ += sender_->interrupt_o;
  }
  void bring() {
    Vsender& s = *sender_;
    s.s_axis_tvalid = came_ < coming_.size();
    if (!s.s_axis_tvalid) return;
    const Bytes& frame = coming_[came_];
    const std::size_t bytes = std::min<std::size_t>(64, frame.size() - at_);
    put(s.s_axis_tdata, std::span(frame).subspan(at_, bytes));
    s.s_axis_tkeep = bytes == 64 ? ~0ULL : (1ULL << bytes) - 1;
    at_ += bytes;
    s.s_axis_tlast = at_ == frame.size();
    if (s.s_axis_tlast) ++came_, at_ = 0;
  }

  Clocked<Vsender> sender_;
  Random random_;
  std::optional<Memory<Vsender>> memory_;
  Bytes frame_;
  bool inside_ = false;
  std::vector<Bytes> coming_;
  std::size_t came_ = 0, at_ = 0;
  std::uint32_t arms_ = 0, starts_ = 0, aborts_ = 0;
  std::deque<std::uint8_t> answers_;  // of the beats that are asked for
  std::uint64_t interrupts_ = 0, armed_ = 0;
};

struct Run {
  std::vector<Play> plays;
  Bytes memory;
  std::vector<Expected> expected;
  std::uint64_t images = 0, packets = 0, bytes = 0, lines = 0;
};

Run random_run(Card& card, std::uint32_t dtps) {
  Run run;
  Random& random = card.random();
  std::uint64_t end = random(0, 5000);
  for (std::uint32_t d = 0; d < dtps; ++d) {
    Play play;
    const std::uint64_t begin = end;
    do {  // the card takes even lines
      end = begin;
      play = random_play(random, d, end);
    } while (play.frames.pixel_bytes == 1);
    play.table.credit_qpn = 0x100 + d;
    play.table.credit_key = kGrantedByWire + d;
    play.table.credit_address = 0x1000 + 64 * d;
    run.plays.push_back(std::move(play));
  }
  run.memory = random.bytes((end / 4096 + 4) * 4096);
  for (const Play& play : run.plays) {
    for (std::uint64_t f = 0; f < play.frames.frames; ++f) {
      link::fpga::record_template(
          std::span<std::byte, FrameRecord::kBytes>(run.memory.data() + play.frames.address + f * play.frames.stride,
                                                    FrameRecord::kBytes),
          f, random.word(), 0, {});
    }
    run.expected.push_back(Software(play, run.memory).all());
    run.images += play.dtp.images;
    run.packets += run.expected.back().frames.size();
    run.bytes += play.dtp.images * (play.dtp.placement.payload_bytes() + FrameRecord::kBytes);
    run.lines += play.dtp.images * play.dtp.placement.lines;
  }
  return run;
}

void load(Card& card, const Run& run) {
  for (std::uint32_t d = 0; d < 16; ++d) card.table(d, d < run.plays.size() ? run.plays[d].table : reg::DtpTable{});
  for (std::uint32_t d = 0; d < 16; ++d) {
    card.write(reg::doorbells::kGranted + 4 * d, 0);
    card.write(reg::doorbells::kFramesAvailable + 4 * d, 0);
  }
  // faults of the run before would hit the same packets of this one
  for (std::uint32_t n = 0; n < reg::faults::kCount; ++n) card.write(reg::faults::at(n) + reg::faults::kWhat, 0);
  card.memory(run.memory, card.random()(0, 60), card.random()(0, 30));
}

/// Each frame is the next one of some DTP, and none is missing.
void compare(const Card& card, const std::vector<Expected>& expected, const char* what) {
  std::vector<std::size_t> sent(expected.size());
  for (const Bytes& frame : card.frames) {
    std::size_t d = 0;
    while (d < expected.size() && (sent[d] == expected[d].frames.size() || expected[d].frames[sent[d]] != frame)) ++d;
    if (!check(d < expected.size(), "%s: a frame of %zu bytes that software does not send", what, frame.size())) return;
    ++sent[d];
  }
  for (std::size_t d = 0; d < expected.size(); ++d) {
    check(sent[d] == expected[d].frames.size(), "%s: %zu of %zu frames of DTP %zu", what, sent[d],
          expected[d].frames.size(), d);
  }
}

Bytes credit(std::uint32_t dtp, std::uint64_t images) {
  wire::Packet packet;
  packet.ethernet.emplace();
  packet.ipv4.emplace();
  packet.udp.emplace();
  packet.bth.opcode = wire::write_only;
  packet.bth.destination_qp = 0x100 + dtp;
  packet.reth = wire::RethHeader{0x1000 + 64ULL * dtp, kGrantedByWire + dtp, {}};
  packet.payload.resize(16);
  std::memcpy(packet.payload.data(), &images, sizeof images);
  return encode(packet);
}

void whole_run(Card& card, bool faults) {
  Random& random = card.random();
  Run run = random_run(card, random(1, 5));
  load(card, run);
  card.write(reg::settings::kMode, 0);
  card.slow = random.chance(50) ? 0 : 50;
  std::uint32_t entry = 0, made = 0;
  for (std::uint32_t d = 0; faults && d < run.plays.size(); ++d) {
    auto& frames = run.expected[d].frames;
    for (std::size_t n = frames.size(); n-- > 0;) {
      if (entry == reg::faults::kCount || !random.chance(20)) continue;
      const std::uint32_t psn = (run.plays[d].path.first_psn + n) & 0xFFFFFFU;
      const bool drop = random.chance(50);
      const std::uint32_t bit = random(0, static_cast<std::uint32_t>(8 * frames[n].size() - 1));
      card.write(reg::faults::at(entry), reg::faults::kPacketPsn.put(psn) | reg::faults::kPacketDtp.put(d));
      const auto kind = static_cast<std::uint32_t>(drop ? reg::FaultKind::drop : reg::FaultKind::flip);
      card.write(reg::faults::at(entry) + reg::faults::kWhat,
                 reg::faults::kWhatBitNumber.put(bit) | reg::faults::kWhatKind.put(kind));
      ++entry, ++made;
      if (drop) {
        frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(n));
      } else {
        frames[n][bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      }
    }
  }
  for (; entry < reg::faults::kCount; ++entry) card.write(reg::faults::at(entry) + reg::faults::kWhat, 0);
  card.begin();
  std::uint64_t credits = 0;
  for (std::uint32_t d = 0; d < run.plays.size(); ++d) {
    card.write(reg::doorbells::kFramesAvailable + 4 * d, 1U << 20U);
    const auto images = static_cast<std::uint32_t>(run.plays[d].dtp.images);
    if (random.chance(50)) {
      card.write(reg::doorbells::kGranted + 4 * d, images);
    } else {
      card.receive(credit(d, images)), ++credits;
    }
  }
  check(card.ended() == reg::State::done, "the run has not ended well: error %08x", card.read(reg::status::kError));
  compare(card, run.expected, faults ? "a run with faults" : "a run");
  using namespace reg;
  check(card.counter(counters::kImages) == run.images && card.counter(counters::kPackets) == run.packets &&
            card.counter(counters::kBytes) == run.bytes && card.counter(counters::kLines) == run.lines,
        "counters of what has left");
  check(card.counter(counters::kCredits) == credits, "counter of credits");
  check(card.counter(counters::kFaults) == made, "%llu of %u faults",
        static_cast<unsigned long long>(card.counter(counters::kFaults)), made);
  check(card.read(status::kDtpsDone) == (1U << run.plays.size()) - 1, "DTPs that are done");
  for (std::uint32_t d = 0; d < run.plays.size(); ++d) {
    const std::uint32_t at = dtp_status::at(d);
    check(card.counter(at + dtp_status::kImagesSent) == run.plays[d].dtp.images &&
              card.read(at + dtp_status::kGranted) == run.plays[d].dtp.images &&
              card.counter(at + dtp_status::kImagesSkipped) == 0,
          "images of DTP %u", d);
  }
}

/// What waits for what is counted; images without a credit are left out where that is asked for; Abort.
void waits(Card& card) {
  Run run = random_run(card, 2);
  for (std::uint32_t d = 0; d < 2; ++d) {
    run.plays[d].table.dtp_paced = false;
    run.plays[d].table.dtp_skip = d == 1;
  }
  load(card, run);
  card.write(reg::settings::kMode, 0);
  card.slow = 0;
  card.begin();
  using namespace reg;
  card.run(500);
  check(card.counter(counters::kWaitCredit) == 0, "no DTP has a frame, and the card says that it waits for credits");
  check(card.read(status::kDtpsWaiting) == 0, "DTPs that wait");
  card.write(doorbells::kFramesAvailable, 1U << 20U);
  card.write(doorbells::kFramesAvailable + 4, 1U << 20U);
  card.run(1000);
  check(card.frames.empty(), "a frame without a credit");
  check(card.counter(counters::kWaitCredit) > 500, "%llu cycles without a credit",
        static_cast<unsigned long long>(card.counter(counters::kWaitCredit)));
  check(card.read(status::kDtpsWaiting) == 1 && card.read(status::kDtpsDone) == 2, "DTPs that wait, and are done");
  check(card.counter(dtp_status::at(1) + dtp_status::kImagesSkipped) == run.plays[1].dtp.images &&
            card.counter(dtp_status::at(0) + dtp_status::kImagesSkipped) == 0,
        "images left out");
  const std::uint64_t memory = card.counter(counters::kWaitMemory);
  card.memory(run.memory, 1000, 0);
  card.write(doorbells::kGranted, 1);
  card.run(900);
  check(card.counter(counters::kWaitMemory) > memory + 500 && card.counter(counters::kWaitWire) == 0,
        "cycles that wait for memory");
  card.abort();
  check(card.ended() == State::idle, "idle behind Abort");
}

/// The transmit FIFO is full.
void slow_wire(Card& card) {
  Run run = random_run(card, 1);
  Play& play = run.plays[0];
  play.table.images = 1000;
  play.table.dtp_paced = true;
  load(card, run);
  card.write(reg::settings::kMode, 0);
  card.memory(run.memory, 0, 0);
  card.slow = 100;
  card.begin();
  card.write(reg::doorbells::kFramesAvailable, 1U << 20U);
  card.run(40'000);
  check(card.counter(reg::counters::kWaitWire) > 10'000, "%llu cycles wait for the wire",
        static_cast<unsigned long long>(card.counter(reg::counters::kWaitWire)));
  card.slow = 0;
  card.abort();
  check(card.ended() == reg::State::idle, "idle behind Abort");
}

struct Pushed {
  std::uint32_t dtp, source, bytes;
  bool event;
};

void push(Card& card, std::uint32_t entry, const Pushed& descriptor) {
  using namespace reg::descriptors;
  const std::uint32_t at = reg::descriptors::at(entry % kCount);
  card.write(at + kSource, descriptor.source);
  card.write(at + kWhat, kWhatDtp.put(descriptor.dtp) | kWhatEventRecord.put(descriptor.event));
  card.write(at + kDestination, descriptor.source * 2);
  card.write(at + kDestination + 4, 1);
  card.write(at + kBytes, descriptor.bytes);
  card.write(at + kImmediate, ~descriptor.source);
}

/// Descriptors that software pushes; the last one of some runs is wrong.
void pushed(Card& card, std::uint32_t& posted, reg::ErrorCode wrong) {
  Random& random = card.random();
  Run run = random_run(card, 3);
  load(card, run);
  card.write(reg::settings::kMode, 1);
  card.slow = 20;
  card.begin();
  const std::uint32_t first = posted, count = random(5, 40);
  std::vector<Expected> expected(3);
  std::array<std::uint32_t, 3> psn{};
  for (std::uint32_t d = 0; d < 3; ++d) psn[d] = run.plays[d].path.first_psn;
  std::uint64_t lines = 0;
  const bool at_once = random.chance(50);  // faster than they can be cut
  for (std::uint32_t n = 0; n < count; ++n) {
    Pushed descriptor{random(0, 2), random(0, 1000) * 2, random(1, 1000) * 2, random.chance(20)};
    if (descriptor.event) descriptor.bytes = FrameRecord::kBytes;
    const Play& play = run.plays[descriptor.dtp];
    const std::uint32_t mtu = play.packets.pmtu;
    for (std::uint32_t at = 0; at < descriptor.bytes; at += mtu) {
      const std::uint32_t bytes = std::min(mtu, descriptor.bytes - at);
      const bool begins = at == 0, ends = at + bytes == descriptor.bytes;
      const bool only = play.packets.packetisation == link::Packetisation::only || (begins && ends);
      wire::Packet packet;
      packet.bth.opcode = descriptor.event ? wire::write_only_imm
                          : only           ? wire::write_only
                          : begins         ? wire::write_first
                          : ends           ? wire::write_last
                                           : wire::write_middle;
      if (only || begins) {
        packet.reth = wire::RethHeader{(1ULL << 32U) + descriptor.source * 2 + at, play.path.rkey,
                                       only ? bytes : descriptor.bytes};
      }
      if (descriptor.event) packet.immediate = ~descriptor.source;
      const auto from = run.memory.begin() + descriptor.source + at;
      packet.payload.assign(from, from + bytes);
      expected[descriptor.dtp].frames.push_back(framed(play.path, std::move(packet), psn[descriptor.dtp]++));
    }
    if (!descriptor.event) ++lines;
    push(card, posted++, descriptor);
    if (!at_once || n + 1 == count) card.write(reg::doorbells::kDescriptorsPosted, posted);
  }
  std::uint32_t bad = 0;
  if (wrong == reg::ErrorCode::none) {
    for (int i = 0; i < 2000 && card.read(reg::status::kDescriptorsDone) != posted; ++i) card.run(20);
    card.run(200);
    check(card.read(reg::status::kDescriptorsDone) == posted && card.read(reg::status::kDescriptorsTaken) == posted,
          "descriptors done: %u of %u", card.read(reg::status::kDescriptorsDone) - first, count);
    check(card.counter(reg::counters::kLines) == lines, "lines of pushed descriptors");
    check(card.state() == reg::State::running, "it ends by itself");
    card.abort();
    check(card.ended() == reg::State::idle, "idle behind Abort");
    compare(card, expected, "pushed descriptors");
    return;
  }
  Pushed descriptor{random(0, 2), 0, 2, false};
  if (wrong == reg::ErrorCode::descriptor_empty) descriptor.bytes = 0;
  if (wrong == reg::ErrorCode::descriptor_outside) descriptor.source = 64U << 20U;
  if (wrong == reg::ErrorCode::descriptor_dtp) descriptor.dtp = 7;
  if (wrong == reg::ErrorCode::memory) descriptor.source = 8192, bad = 1;
  if (bad != 0) card.refuses = 8192;
  push(card, posted, descriptor);
  card.write(reg::doorbells::kDescriptorsPosted, ++posted);
  check(card.ended() == reg::State::failed, "a bad descriptor does not end the run");
  card.refuses = ~0ULL;
  const std::uint32_t error = card.read(reg::status::kError);
  check(error == (reg::status::kErrorCode.put(static_cast<std::uint32_t>(wrong)) |
                  reg::status::kErrorDtp.put(descriptor.dtp)),
        "error %08x instead of %u", error, static_cast<std::uint32_t>(wrong));
  check(card.read(reg::status::kErrorLine) == (bad == 0 ? count : 0), "the descriptor's number");
}

/// Frames that are no credits, and more than can be looked at.
void strangers(Card& card) {
  Run run = random_run(card, 1);
  run.plays[0].table.dtp_paced = false;
  load(card, run);
  card.write(reg::settings::kMode, 0);
  card.begin();
  wire::Packet cnp;
  cnp.ethernet.emplace();
  cnp.ipv4.emplace();
  cnp.udp.emplace();
  cnp.bth.opcode = wire::congestion_notification;
  cnp.payload.resize(16);
  Bytes bad = credit(0, 1), other = credit(3, 1);
  bad.back() ^= std::byte{1};
  for (const Bytes& frame : {encode(cnp), bad, other}) {
    card.receive(frame);
    card.run(300);
  }
  using namespace reg::counters;
  check(card.counter(kCnps) == 1 && card.counter(kIcrcBad) == 1 && card.counter(kFramesIgnored) == 1,
        "frames that are no credits");
  check(card.counter(kFramesMissed) == 0 && card.counter(kCredits) == 0, "no credit has come");
  for (std::uint32_t n = 1; n <= 60; ++n) card.receive(credit(0, n));
  card.run(60 * 100);
  const std::uint64_t taken = card.counter(kCredits), missed = card.counter(kFramesMissed);
  check(taken >= 16 && missed > 0 && taken + missed == 60, "%llu credits, %llu missed",
        static_cast<unsigned long long>(taken), static_cast<unsigned long long>(missed));
  check(card.frames.empty(), "a frame although nothing is in memory");
  // what software grants counts when it is more, and only then
  const std::uint32_t granted = card.read(reg::dtp_status::at(0) + reg::dtp_status::kGranted);
  card.write(reg::doorbells::kGranted, 5);
  card.run(40);
  check(card.read(reg::dtp_status::at(0) + reg::dtp_status::kGranted) == granted && granted >= taken, "granted: %u",
        granted);
  card.write(reg::doorbells::kGranted, 100);
  card.run(40);
  check(card.read(reg::dtp_status::at(0) + reg::dtp_status::kGranted) == 100, "granted by software");
  card.abort();
  check(card.ended() == reg::State::idle, "idle behind Abort");
}

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa::rtl;
  using Error = rashpa::card::registers::ErrorCode;
  Card card(1);
  std::uint32_t posted = 0;
  for (int round = 0; round < 6 && checks().failed == 0; ++round) {
    whole_run(card, false);
    whole_run(card, true);
    waits(card);
    pushed(card, posted, Error::none);
    for (const Error wrong :
         {Error::descriptor_empty, Error::descriptor_outside, Error::descriptor_dtp, Error::memory}) {
      pushed(card, posted, wrong);
    }
    strangers(card);
    slow_wire(card);
  }
  return result(card.cycles());
}
