// SPDX-License-Identifier: Apache-2.0
// A random number of zeros behind random messages, a message a cycle.
// build: -GPoly=32'hEDB88320 -GAlways=0 -GGranule=1 -CFLAGS "-DCRC=crc32 -DALWAYS=0 -DGRANULE=1 -DSTAGES=6"
// build: -GPoly=32'hEDB88320 -GAlways=2 -GGranule=4 -CFLAGS "-DCRC=crc32 -DALWAYS=2 -DGRANULE=4 -DSTAGES=4"
// build: -GPoly=32'h82F63B78 -GAlways=4 -GGranule=32 -CFLAGS "-DCRC=crc32c -DALWAYS=4 -DGRANULE=32 -DSTAGES=1"
#include <deque>

#include "Vcrc_takeback.h"
#include "rashpa/core/numbers/checksum.hpp"
#include "testing/bench.hpp"

using namespace rashpa::rtl;

int main() {
  Random random;
  Clocked<Vcrc_takeback> back;
  std::deque<std::uint32_t> expected;
  for (int m = 0; m < 100'000; ++m) {
    auto message = random.bytes(random(1, 40));
    const std::uint32_t zeros = random(0, 63 / GRANULE) * GRANULE;
    expected.push_back(~rashpa::CRC(message, 0));
    message.resize(message.size() + zeros + ALWAYS);
    back->state_i = ~rashpa::CRC(message, 0);
    back->zeros_i = static_cast<std::uint8_t>(zeros);
    back.cycle();
    if (m + 1 < STAGES) continue;
    check(back->state_o == expected.front(), "message %d: %08x instead of %08x", m, back->state_o, expected.front());
    expected.pop_front();
  }
  return result(back.cycles());
}
