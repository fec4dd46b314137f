// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/device/longest_run.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rashpa::kernel::azimuthal {

std::uint32_t longest_run(std::span<const std::uint16_t> bin_of, std::uint32_t bins, BinWords words) {
  const std::size_t eights = bin_of.size() / 8, step = std::size_t{kRunStep} / 8 * words.sets;
  const std::size_t all = std::size_t{words.copies} * words.sets;
  std::vector<std::uint32_t> pixels(bins * all);
  const auto each_word = [&](std::size_t eight, auto change) {
    for (const std::uint16_t bin : bin_of.subspan(eight * 8, 8)) {
      if (bin < bins) change(pixels[bin * all + eight % all]);
    }
  };
  // Of all runs that end with an eight, the longest one without a word that has too many begins at `first`.
  std::size_t longest = (eights + step - 1) / step * step, first = 0;
  for (std::size_t eight = 0; eight < eights; ++eight) {
    std::size_t too_many = 0;
    each_word(eight, [&](std::uint32_t& word) { too_many += ++word > kMostOfWord ? 1U : 0U; });
    if (too_many == 0) continue;
    for (; too_many != 0; ++first) {
      each_word(first, [&](std::uint32_t& word) { too_many -= word-- > kMostOfWord ? 1U : 0U; });
    }
    longest = std::min(longest, eight + 1 - first);
  }
  return static_cast<std::uint32_t>(longest / step * step * 8);
}

}  // namespace rashpa::kernel::azimuthal
