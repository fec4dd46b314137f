// SPDX-License-Identifier: Apache-2.0
// Random frames of both IP versions and all 16 ends, back to back and with pauses, against software's CRC-32 with the
// fields masked in a copy.
#include <algorithm>
#include <deque>

#include "Vicrc.h"
#include "rashpa/core/numbers/checksum.hpp"
#include "testing/bench.hpp"

using namespace rashpa::rtl;

namespace {

constexpr std::size_t kEthernet = 14, kIcrc = 4;

using Frame = std::vector<std::byte>;

// The frame with its ICRC; it comes with zeros there.
Frame finished(Frame frame, bool ipv6) {
  Frame covered(8, std::byte{0xFF});
  covered.insert(covered.end(), frame.begin() + kEthernet, frame.end() - kIcrc);
  const auto ones = [&](std::size_t at, std::size_t bytes) {  // from the IP header on
    std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(8 + at), bytes, std::byte{0xFF});
  };
  if (ipv6) {
    covered[8] |= std::byte{0x0F};
    ones(1, 3);
    ones(7, 1);
    ones(40 + 6, 2);
    ones(48 + 4, 1);
  } else {
    ones(1, 1);
    ones(8, 1);
    ones(10, 2);
    ones(20 + 6, 2);
    ones(28 + 4, 1);
  }
  const std::uint32_t icrc = rashpa::crc32(covered);
  std::memcpy(frame.data() + frame.size() - kIcrc, &icrc, kIcrc);
  return frame;
}

std::uint16_t said(bool valid, bool first, bool last, bool ipv6, std::size_t covered) {
  return static_cast<std::uint16_t>(valid << 9 | first << 8 | last << 7 | ipv6 << 6 | (covered & 63U));
}

}  // namespace

int main() {
  Random random;
  Clocked<Vicrc> icrc;
  constexpr int kLatency = 8;
  std::deque<Frame> expected;
  std::deque<bool> valid;  // of the last cycles: what comes in leaves kLatency cycles later
  Frame got;
  std::uint32_t frames = 0;
  std::array<std::uint32_t, 16> ends{};
  const auto step = [&](bool now) {
    valid.push_back(now);
    icrc.cycle();
    if (valid.size() < kLatency) return;
    check(icrc->m_valid_o == valid.front(), "frame %u: valid is not %d cycles late", frames, kLatency);
    valid.pop_front();
    if (!icrc->m_valid_o) return;
    check(icrc->m_last_o ? icrc->m_bytes_o <= 62 : icrc->m_bytes_o == 64, "frame %u: %u bytes", frames,
          icrc->m_bytes_o);
    const auto beat = bytes_of(icrc->m_data_o);
    got.insert(got.end(), beat.begin(), beat.begin() + icrc->m_bytes_o);
    check(std::all_of(beat.begin() + icrc->m_bytes_o, beat.end(), [](std::byte b) { return b == std::byte{}; }),
          "frame %u: bytes behind its end", frames);
    if (!icrc->m_last_o) return;
    if (check(!expected.empty(), "a frame that was not given")) {
      check(got == expected.front(), "frame %u: %zu bytes, %zu expected", frames, got.size(), expected.front().size());
      expected.pop_front();
    }
    got.clear();
    ++frames;
  };
  icrc->beat_i = 0;
  icrc.reset();
  constexpr std::uint32_t kFrames = 20'000;
  for (std::uint32_t f = 0; f < kFrames; ++f) {
    const bool ipv6 = random.chance(50);
    const std::size_t headers = ipv6 ? 14 + 40 + 8 + 12 : 14 + 20 + 8 + 12;
    Frame frame = random.bytes(headers + 4UL * random(0, random.chance(70) ? 40 : 1030) + kIcrc);
    std::fill_n(frame.end() - kIcrc, kIcrc, std::byte{});
    expected.push_back(finished(frame, ipv6));
    const std::size_t covered = frame.size() - kIcrc;
    ++ends[covered % 64 / 4];
    for (std::size_t at = 0; at < frame.size(); at += 64) {
      const std::size_t bytes = std::min<std::size_t>(64, frame.size() - at);
      icrc->beat_i = said(true, at == 0, at + 64 >= frame.size(), ipv6, covered);
      put(icrc->data_i, std::span(frame).subspan(at, bytes));
      step(true);
    }
    while (f % 4 == 0 && random.chance(60)) {  // whatever lies on the wires
      icrc->beat_i = said(false, random.chance(50), random.chance(50), random.chance(50), random.word());
      icrc->data_i[random(0, 15)] = random.word();
      step(false);
    }
  }
  icrc->beat_i = 0;
  for (int i = 0; i < 16; ++i) step(false);
  check(frames == kFrames && expected.empty(), "%u frames of %u", frames, kFrames);
  for (std::size_t end = 0; end < ends.size(); ++end)
    check(ends[end] > 100, "end %zu was tried %u times", 4 * end + 2, ends[end]);
  return result(icrc.cycles());
}
