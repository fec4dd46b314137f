// SPDX-License-Identifier: Apache-2.0
// Random packets of random DTPs, as frames bring them, against software's CRC32C. Short packets of one DTP back to
// back; a middle packet and a last one of one beat behind it.
#include <algorithm>

#include "Vpayload_crc.h"
#include "rashpa/core/numbers/checksum.hpp"
#include "testing/bench.hpp"

using namespace rashpa::rtl;

int main() {
  Random random;
  Clocked<Vpayload_crc> crc;
  std::array<std::uint32_t, 16> expected{};
  std::array<bool, 16> begun{};
  std::uint64_t quiet = 0;
  const auto step = [&] {
    crc.cycle();
    if (crc->busy_o) return;
    ++quiet;
    const std::uint32_t dtp = crc->read_dtp_i;
    if (begun[dtp]) {
      check(crc->crc_o == expected[dtp], "DTP %u: %08x instead of %08x", dtp, crc->crc_o, expected[dtp]);
    }
    crc->read_dtp_i = random(0, 15);
  };
  const auto nothing = [&](std::uint32_t cycles) {
    for (std::uint32_t i = 0; i < cycles; ++i) {
      crc->valid_i = 0;
      crc->last_i = random.chance(50);
      crc->data_i[random(0, 15)] = random.word();
      step();
    }
  };
  // The payload begins `headers` bytes behind the frame's begin; header beats have no payload.
  const auto packet = [&](std::uint32_t dtp, bool begins, std::size_t headers, std::size_t bytes) {
    const auto payload = random.bytes(bytes);
    nothing(static_cast<std::uint32_t>(headers / 64));
    std::vector<std::byte> frame(headers % 64);
    frame.insert(frame.end(), payload.begin(), payload.end());
    for (std::size_t at = 0; at < frame.size(); at += 64) {
      const std::size_t in_beat = std::min<std::size_t>(64, frame.size() - at);
      const bool last = at + 64 >= frame.size();
      crc->valid_i = 1;
      crc->last_i = last;
      put(crc->data_i, std::span(frame).subspan(at, in_beat));
      crc->zeros_i = last ? 64 - in_beat : random(0, 63);
      crc->dtp_i = last ? dtp : random(0, 15);
      crc->begins_image_i = last ? begins : random.chance(50);
      crc->factor_i = last ? rashpa::Crc32cShift(bytes).factor() : random.word();
      if (last) {
        expected[dtp] = rashpa::crc32c(payload, begins ? 0 : expected[dtp]);
        begun[dtp] = begun[dtp] || begins;
      }
      step();
    }
    // The ICRC in a beat of its own.
    if (headers + bytes > 64 && (frame.size() + 4) / 64 != frame.size() / 64) nothing(1);
  };
  crc->valid_i = 0;
  crc.reset();
  for (int burst = 0; burst < 1'500; ++burst) {
    const std::uint32_t dtp = random(0, 15);
    const bool alone = random.chance(50);
    const std::uint32_t most = random.chance(50) ? 60 : 1500;
    for (std::uint32_t p = random(1, 30); p != 0; --p) {
      const std::uint32_t of = alone ? dtp : random(0, 15);
      const bool begins = !begun[of] || random.chance(10);
      if (random.chance(20)) {
        packet(of, begins, random.chance(50) ? 54 : 74, 256);
        packet(of, false, 54, random(1, 4));
      } else {
        packet(of, begins, random.chance(50) ? 70 : 90, random(1, most));
      }
    }
    nothing(random.chance(10) ? 0 : random(8, 40));
  }
  check(quiet > 10'000, "the block was idle in %llu cycles only", static_cast<unsigned long long>(quiet));
  return result(crc.cycles());
}
