// SPDX-License-Identifier: Apache-2.0
// Every amount with every byte marked in turn, and random beats, a beat a cycle.
#include <algorithm>
#include <deque>

#include "Vrotate.h"
#include "testing/bench.hpp"

using namespace rashpa::rtl;

int main() {
  Random random;
  Clocked<Vrotate> rotate;
  std::deque<std::array<std::byte, 64>> expected;
  std::uint32_t beats = 0;
  const auto step = [&](std::array<std::byte, 64> bytes, std::uint32_t amount) {
    put(rotate->data_i, bytes);
    rotate->amount_i = static_cast<std::uint8_t>(amount);
    std::rotate(bytes.rbegin(), bytes.rbegin() + amount, bytes.rend());
    expected.push_back(bytes);
    rotate.cycle();
    if (++beats < 3) return;
    check(bytes_of(rotate->data_o) == expected.front(), "beat %u", beats - 3);
    expected.pop_front();
  };
  for (std::uint32_t amount = 0; amount < 64; ++amount) {
    for (std::uint32_t marked = 0; marked < 64; ++marked) {
      std::array<std::byte, 64> bytes{};
      bytes[marked] = std::byte{0xFF};
      step(bytes, amount);
    }
  }
  for (int i = 0; i < 50'000; ++i) {
    std::array<std::byte, 64> bytes{};
    random.fill(bytes);
    step(bytes, random(0, 63));
  }
  return result(rotate.cycles());
}
