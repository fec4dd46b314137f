// SPDX-License-Identifier: Apache-2.0
// Credits as receivers write them, and everything else that comes: granted counts, and why the rest is none.
#include <algorithm>

#include "../testing/bench.hpp"
#include "../testing/table.hpp"
#include "Vcredit_receiver.h"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/packet/packet.hpp"

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
    model_->dtp_i = 0;
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
  std::uint32_t granted(std::uint32_t dtp) {
    model_->dtp_i = dtp;
    model_->eval();
    return model_->granted_o;
  }
  Pulses take() { return std::exchange(pulses_, {}); }
  std::uint64_t cycles() { return model_.cycles(); }

  void cycle() {
    model_.cycle();
    pulses_.credit += model_->credit_o;
    pulses_.cnp += model_->cnp_o;
    pulses_.ignored += model_->ignored_o;
    pulses_.icrc_bad += model_->icrc_bad_o;
    pulses_.missed += model_->missed_o;
  }

 private:
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
  // as many back to back as there are DTPs, and one for which there is no room: no half of it is taken for a frame
  Pulses all{.missed = 1};
  for (std::uint32_t d = 0; d < 16; ++d) {
    bench.give(encode(credit(random, words[d], granted[d] + 1, 16)), random, 0);
    if (d != 5) ++granted[d], ++all.credit;
  }
  all.ignored = 1;  // DTP 5 has no queue pair
  bench.give(encode(credit(random, words[3], granted[3] + 7, 16)), random, 0);
  for (int i = 0; i < 16; ++i) bench.rest();
  check(bench.take() == all, "back to back");
  for (std::uint32_t d = 0; d < 16; ++d) check(bench.granted(d) == granted[d], "back to back: DTP %u", d);
  // frames of one beat, of three, of two with another length
  for (const std::size_t bytes : {60U, 64U, 65U, 128U, 129U, 1500U}) {
    bench.give(random.bytes(bytes), random);
    bench.rest();
    check(bench.take() == Pulses{.ignored = 1}, "a frame of %zu bytes", bytes);
  }
  // good in everything but its length
  for (const std::size_t bytes : {16U, 8U}) {
    wire::Packet packet = credit(random, words[3], granted[3] + 1, bytes);
    packet.reth->dma_length = static_cast<std::uint32_t>(24 - bytes);
    bench.give(encode(packet), random);
    bench.rest();
    check(bench.take() == Pulses{.ignored = 1}, "%zu bytes that say to be others", bytes);
  }
  check(bench.granted(3) == granted[3], "none of them counts");
  // a notification of congestion
  wire::Packet cnp = credit(random, words[3], 0, 16);
  cnp.bth.opcode = wire::congestion_notification;
  cnp.reth.reset();
  bench.give(encode(cnp), random);
  bench.rest();
  check(bench.take() == Pulses{.cnp = 1}, "a CNP");
  // what came before Arm does not count behind it, wherever its check has got to
  for (int late = 0; late < 100; ++late) {
    bench.arm();
    for (std::uint32_t d = 0; d < 16; ++d) check(bench.granted(d) == 0, "nothing is granted behind Arm");
    bench.give(encode(credit(random, words[15], 5, 16)), random, 0);
    for (int i = 0; i < late; ++i) bench.cycle();
    const bool counted = bench.take().credit == 1;
    bench.arm();
    bench.rest();
    check(bench.take() == Pulses{} && bench.granted(15) == 0, "a credit %d cycles before Arm", late);
    if (late < 40 || late > 90) check(counted == (late > 90), "the check takes 40 to 90 cycles, not %d", late);
    bench.give(encode(credit(random, words[15], 1, 8)), random);
    bench.rest();
    check(bench.take() == Pulses{.credit = 1} && bench.granted(15) == 1, "the first credit behind Arm");
  }
  return result(bench.cycles());
}
