// SPDX-License-Identifier: Apache-2.0
// Random packets, with and without pauses, against software's checksums.
// build: -GPoly=32'hEDB88320 -CFLAGS -DCRC=crc32
// build: -GPoly=32'h82F63B78 -CFLAGS -DCRC=crc32c
#include <deque>

#include "Vcrc512.h"
#include "rashpa/core/numbers/checksum.hpp"
#include "testing/bench.hpp"

using namespace rashpa::rtl;

int main() {
  Random random;
  Clocked<Vcrc512> crc;
  std::deque<std::uint32_t> expected;
  std::uint32_t packets = 0;
  crc->valid_i = 0;
  const auto step = [&] {
    crc.cycle();
    if (!crc->valid_o) return;
    if (!check(!expected.empty(), "a state that no packet has")) return;
    check(crc->state_o == expected.front(), "packet %u: state %08x instead of %08x", packets, crc->state_o,
          expected.front());
    expected.pop_front();
    ++packets;
  };
  crc.reset();
  for (int p = 0; p < 12'000; ++p) {
    const std::uint32_t beats = random.chance(50) ? random(1, 4) : random(1, 66);
    const std::uint32_t pauses = p % 3 == 0 ? random(0, 60) : 0;
    const std::uint32_t start = random.word();
    const auto packet = random.bytes(std::size_t{64} * beats);
    expected.push_back(~rashpa::CRC(packet, ~start));
    for (std::uint32_t b = 0; b < beats; ++b) {
      crc->valid_i = 1;
      crc->first_i = b == 0;
      crc->last_i = b + 1 == beats;
      crc->start_i = b == 0 ? start : random.word();
      put(crc->data_i, std::span(packet).subspan(std::size_t{64} * b, 64));
      step();
      while (random.chance(pauses)) {  // whatever lies on the wires
        crc->valid_i = 0;
        crc->first_i = random.chance(50);
        crc->last_i = random.chance(50);
        crc->data_i[random(0, 15)] = random.word();
        step();
      }
    }
  }
  crc->valid_i = 0;
  for (int i = 0; i < 8; ++i) step();
  check(packets == 12'000 && expected.empty(), "%u packets of 12000", packets);
  return result(crc.cycles());
}
