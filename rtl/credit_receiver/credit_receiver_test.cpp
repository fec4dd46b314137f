// SPDX-License-Identifier: Apache-2.0
// Credits as receivers write them, and everything else that comes: granted counts, and why the rest is none.
#include <algorithm>

#include "../testing/bench.hpp"
#include "../testing/table.hpp"
#include "Vcredit_receiver.h"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/packet.hpp"

namespace rashpa::rtl {
namespace {

using Bytes = std::vector<std::byte>;

struct Pulses {
  std::uint32_t credit = 0, cnp = 0, ignored = 0, icrc_bad = 0, missed = 0;
  bool operator==(const Pulses&) const = default;
};

struct Words {
  std::uint32_t qpn, key;
  std::uint64_t address;
};

wire::Packet credit(Random& random, const Words& words, std::uint64_t images, std::size_t bytes) {
  wire::Packet packet;
  packet.ethernet.emplace();
  if (random.chance(50)) {
    packet.ipv4.emplace();
    packet.ipv4->id = static_cast<std::uint16_t>(random.word());
    packet.ipv4->tos = static_cast<std::uint8_t>(random.word());
    packet.ipv4->source = {10, 0, 0, static_cast<std::uint8_t>(random.word())};
  } else {
    packet.ipv6.emplace();
    packet.ipv6->flow_label = random.word() & 0xFFFFFU;
    packet.ipv6->source[3] = static_cast<std::uint8_t>(random.word());
  }
  packet.udp.emplace();
  packet.bth.opcode = wire::write_only;
  packet.bth.destination_qp = words.qpn;
  packet.bth.psn = random.word() & 0xFFFFFFU;
  packet.bth.solicited = static_cast<std::uint8_t>(random(0, 1));
  packet.bth.migration = static_cast<std::uint8_t>(random(0, 1));
  packet.bth.becn = static_cast<std::uint8_t>(random(0, 1));
  packet.reth = wire::RethHeader{words.address, words.key, {}};
  packet.payload.resize(bytes);
  const std::array<std::uint64_t, 2> both{images, random.word()};
  std::memcpy(packet.payload.data(), both.data(), std::min<std::size_t>(bytes, sizeof both));
  return packet;
}

class Bench {
 public:
  Bench() : model_(3) {
    model_->arm_i = 0;
    model_->table_i = 0;
    model_->s_axis_tvalid = 0;
    model_.reset();
  }
  void table(std::uint32_t dtp, const Words& words) {
    card::registers::DtpTable table;
    table.credit_qpn = words.qpn;
    table.credit_key = words.key;
    table.credit_address = words.address;
    write_table(*model_, dtp, table, [&] { cycle(); });
  }
  void arm() {
    model_->arm_i = 1;
    cycle();
    model_->arm_i = 0;
  }
  /// With `pauses` percent of empty cycles between beats.
  void give(const Bytes& frame, Random& random, std::uint32_t pauses = 20) {
    for (std::size_t at = 0; at < frame.size(); at += 64) {
      while (random.chance(pauses)) cycle();
      const std::size_t bytes = std::min<std::size_t>(64, frame.size() - at);
      put(model_->s_axis_tdata, std::span(frame).subspan(at, bytes));
      model_->s_axis_tkeep = bytes == 64 ? ~0ULL : (1ULL << bytes) - 1;
      model_->s_axis_tlast = at + bytes == frame.size();
      model_->s_axis_tvalid = 1;
      cycle();
      model_->s_axis_tvalid = 0;
    }
  }
  void rest() {
    for (int i = 0; i < 100; ++i) cycle();
  }
  std::uint32_t granted(std::uint32_t dtp) { return model_->granted_o[dtp]; }
  Pulses take() { return std::exchange(pulses_, {}); }
  std::uint64_t cycles() { return model_.cycles(); }

 private:
  void cycle() {
    model_.cycle();
    pulses_.credit += model_->credit_o;
    pulses_.cnp += model_->cnp_o;
    pulses_.ignored += model_->ignored_o;
    pulses_.icrc_bad += model_->icrc_bad_o;
    pulses_.missed += model_->missed_o;
  }
  Clocked<Vcredit_receiver> model_;
  Pulses pulses_;
};

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa;
  using namespace rashpa::rtl;
  Random random(7);
  Bench bench;
  std::array<Words, 16> words{};
  std::array<std::uint32_t, 16> granted{};
  for (std::uint32_t d = 0; d < 16; ++d) {
    words[d] = {16 + random(0, 1U << 20) * 16 + d, random.word(), std::uint64_t{random.word()} << 20U | 8};
    if (d != 5) bench.table(d, words[d]);  // one has no credits
  }
  bench.take();
  for (int n = 0; n < 3000; ++n) {
    const std::uint32_t d = random(0, 15);
    const std::uint32_t step = random(0, 3);
    wire::Packet packet = credit(random, words[d], granted[d] + step, random.chance(50) ? 8 : 16);
    Pulses want;
    std::uint32_t kind = random(0, 21);
    if (kind == 8 && granted[d] == 0) kind = 19;
    bool good = d != 5;
    if (kind == 0) packet.reth->rkey ^= 1U << random(0, 31), good = false;
    if (kind == 1) packet.reth->virtual_address ^= 1ULL << random(0, 63), good = false;
    if (kind == 2) packet.bth.destination_qp ^= 1U << random(4, 23), good = false;
    if (kind == 3) packet.bth.opcode = wire::write_only_imm, packet.immediate = random.word(), good = false;
    if (kind == 4) packet.payload.resize(random.chance(50) ? 12 : 4), good = false;
    if (kind == 5) packet.payload.resize(200), good = false;
    if (kind == 6) packet.bth.opcode = 0x0A, good = false;  // reliable connected
    if (kind == 7) packet.reth->dma_length = 32, good = false;
    if (kind == 20) packet.bth.pkey = 0x7FFF, good = false;
    if (kind == 21) packet.bth.version = 1, good = false;
    if (kind == 8) {  // an older one, late
      const std::uint64_t old = granted[d] - 1;
      std::memcpy(packet.payload.data(), &old, sizeof old);
    }
    Bytes frame = encode(packet);
    if (kind == 9) {
      // beyond the headers that are looked at first; not those bits that the ICRC does not cover
      const std::size_t at = frame.size() - 1 - random(0, 11);
      frame[at] ^= static_cast<std::byte>(1U << random(0, 7));
    }
    if (kind == 9) {
      want.icrc_bad = 1;
    } else if (!good) {
      want.ignored = 1;
    } else if (kind != 8 && step > 0) {
      want.credit = 1;
      granted[d] += step;
    }
    bench.give(frame, random);
    bench.rest();
    const Pulses got = bench.take();
    check(got == want, "frame %d, kind %u, DTP %u: credit %u cnp %u ignored %u icrc %u missed %u", n, kind, d,
          got.credit, got.cnp, got.ignored, got.icrc_bad, got.missed);
    for (std::uint32_t other = 0; other < 16; ++other) {
      check(bench.granted(other) == granted[other], "frame %d: DTP %u has %u instead of %u", n, other,
            bench.granted(other), granted[other]);
    }
  }
  // two back to back: the second is missed, and no half of it is taken for a frame
  const std::uint32_t before = granted[3];
  bench.give(encode(credit(random, words[3], before + 1, 16)), random, 0);
  bench.give(encode(credit(random, words[3], before + 2, 16)), random, 0);
  bench.rest();
  check(bench.take() == Pulses{.credit = 1, .missed = 1}, "back to back");
  check(bench.granted(3) == before + 1, "the first of two counts");
  // a notification of congestion
  wire::Packet cnp = credit(random, words[3], 0, 16);
  cnp.bth.opcode = wire::congestion_notification;
  cnp.reth.reset();
  bench.give(encode(cnp), random);
  bench.rest();
  check(bench.take() == Pulses{.cnp = 1}, "a CNP");
  bench.arm();
  for (std::uint32_t d = 0; d < 16; ++d) check(bench.granted(d) == 0, "nothing is granted behind Arm");
  return result(bench.cycles());
}
