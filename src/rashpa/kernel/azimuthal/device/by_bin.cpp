// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/device/by_bin.hpp"

#include <algorithm>

namespace rashpa::kernel::azimuthal {

ByBin by_bin(const Prepared& prepared) {
  const auto for_shares = [&](auto work) {
    for (std::size_t pixel = 0; pixel < prepared.pixels(); ++pixel) {
      const std::size_t first = prepared.split() ? prepared.shares_before(pixel) : pixel;
      const std::size_t last = prepared.split() ? prepared.shares_before(pixel + 1) : pixel + 1;
      for (std::size_t at = first; at < last; ++at) {
        if (prepared.bin(at) != prepared.bins()) work(prepared.bin(at), pixel, at);
      }
    }
  };
  ByBin table;
  table.firsts.resize(prepared.bins() + 1);
  for_shares([&](std::uint32_t bin, std::size_t, std::size_t) { table.firsts[bin + 1] += 1; });
  for (std::size_t bin = 1; bin < table.firsts.size(); ++bin) table.firsts[bin] += table.firsts[bin - 1];
  std::vector<std::uint32_t> next(table.firsts.begin(), table.firsts.end() - 1);
  table.pixels.resize(std::max<std::size_t>(table.firsts.back(), 1));
  if (prepared.split()) table.shares.resize(table.pixels.size());
  for_shares([&](std::uint32_t bin, std::size_t pixel, std::size_t at) {
    const std::uint32_t to = next[bin]++;
    table.pixels[to] = static_cast<std::uint32_t>(pixel);
    if (prepared.split()) table.shares[to] = prepared.shares()[at];
  });
  return table;
}

}  // namespace rashpa::kernel::azimuthal
