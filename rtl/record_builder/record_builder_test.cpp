// SPDX-License-Identifier: Apache-2.0
// Records of random events: a template of software, and what the block says is to be XORed to it, are the record that
// software encodes. One event behind the other, some given up by a reset of what wants them.
#include <algorithm>
#include <bit>

#include "../sender/software.hpp"
#include "../testing/table.hpp"
#include "Vrecord_builder.h"

namespace rashpa::rtl {
namespace {

constexpr int kMost = 36;  // cycles until it is ready
constexpr int kStays = 4;  // cycles behind the event's begin, in which its two beats are taken

struct Event {
  std::uint32_t dtp;
  FrameRecord record;
};

void ask(Vrecord_builder& builder, const Event& event) {
  builder.wanted_i = 1;
  builder.dtp_i = static_cast<std::uint8_t>(event.dtp);
  builder.last_of_run_i = (event.record.flags & FrameRecord::last_of_run) != 0;
  builder.index_i = event.record.index;
  builder.slot_i = event.record.slot;
  builder.crc_i = event.record.payload_crc32c;
}

void compare(const Vrecord_builder& builder, const Event& event) {
  FrameRecord record = event.record;
  std::array<std::byte, FrameRecord::kBytes> whole{}, given{};
  encode(record, whole);
  record.flags &= ~std::uint32_t{FrameRecord::last_of_run};
  link::fpga::record_template(given, record.frame_number, record.timestamp_ns, record.flags, record.user);
  const auto first = bytes_of(builder.first_o);
  for (std::size_t i = 0; i < 64; ++i) given[i] ^= first[i];
  for (std::size_t i = 0; i < 4; ++i) given[124 + i] ^= static_cast<std::byte>(builder.crc_o >> (8 * i));
  check(given == whole, "DTP %u, image %llu: the record is not software's", event.dtp,
        static_cast<unsigned long long>(record.index));
}

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa;
  using namespace rashpa::rtl;
  Random random;
  Clocked<Vrecord_builder> builder;
  builder->wanted_i = 0;
  builder.reset();
  std::array<card::registers::DtpTable, 16> tables{};
  int slowest = 0;
  for (int n = 0; n < 3000; ++n) {
    if (n % 100 == 0) {
      for (std::uint32_t d = 0; d < 16; ++d) {
        tables[d].dtp_id = random(0, 255);
        tables[d].lines = random.word();
        tables[d].payload_bytes = std::uint64_t{random.word()} << 32U | random.word();
        tables[d].run = random.word();
        write_table(*builder, d, tables[d], [&] { builder.cycle(); });
      }
    }
    Event event{random(0, 15), {}};
    FrameRecord& record = event.record;
    const auto& table = tables[event.dtp];
    record.dtp = table.dtp_id;
    record.flags = random(0, 7);
    record.frame_number = random.word();
    record.timestamp_ns = random.word();
    record.index = std::uint64_t{random.word()} << 32U | random.word();
    record.slot = random.word();
    record.lines = table.lines;
    record.payload_bytes = table.payload_bytes;
    record.payload_crc32c = random.word();
    record.run = table.run;
    for (auto& word : record.user) word = random.word();
    ask(*builder, event);
    builder->eval();
    check(!builder->ready_o, "ready for an event that it does not know yet");
    if (random.chance(10)) {  // given up
      for (std::uint32_t c = random(1, 31); c > 0; --c) builder.cycle();
      check(!builder->ready_o, "ready too early");
      builder->wanted_i = 0;
      builder.cycle();
      continue;
    }
    int cycles = 0;
    while (!builder->ready_o && cycles <= kMost) builder.cycle(), ++cycles;
    check(cycles <= kMost, "not ready after %d cycles", cycles);
    slowest = std::max(slowest, cycles);
    for (std::uint32_t c = random(1, 5); c > 0; --c) {
      builder.cycle();
      compare(*builder, event);
      check(builder->ready_o != 0, "no longer ready");
    }
    builder->wanted_i = 0;
    // The next event may be looked at while the beats of this one are taken.
    builder->dtp_i = static_cast<std::uint8_t>(random(0, 15));
    builder->index_i = random.word();
    builder->slot_i = random.word();
    builder->crc_i = random.word();
    for (int c = 0; c < kStays; ++c) {
      builder.cycle();
      compare(*builder, event);
      check(!builder->ready_o, "ready for nobody");
      builder->wanted_i = c < kStays - 1;
    }
    builder->wanted_i = 0;
    builder.cycle();
  }
  std::printf("ready after %d cycles\n", slowest);
  return result(builder.cycles());
}
