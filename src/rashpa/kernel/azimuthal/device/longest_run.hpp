// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How many pixels a block of a device may add up before words of its shared memory overflow.
#include <cstdint>
#include <span>

namespace rashpa::kernel::azimuthal {

/// Pixels that a word takes: it has the sum of 16 bits of each, and in 8 bits how many of them have counts.
inline constexpr std::uint32_t kMostOfWord = 255;
/// Runs begin at multiples of this number of pixels.
inline constexpr std::uint32_t kRunStep = 256;

/// Words of a bin that a block has for an image: those of neighbouring lanes, and sets of these for warps by turns. Of
/// eight pixels that follow each other those of a bin go to one word, those of the next eight to the next one. Both
/// powers of 2; `copies` at least 2 and at most 32.
struct BinWords {
  std::uint32_t copies = 0;
  std::uint32_t sets = 0;
};

/// The longest run of pixels, a multiple of kRunStep · sets, of which no word gets more than kMostOfWord, wherever it
/// begins. `bin_of` is of each pixel, a multiple of 8 in all; those with `bins` are in none.
std::uint32_t longest_run(std::span<const std::uint16_t> bin_of, std::uint32_t bins, BinWords words);

}  // namespace rashpa::kernel::azimuthal
