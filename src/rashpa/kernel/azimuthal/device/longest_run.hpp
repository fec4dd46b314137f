// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The number of pixels that a block of threads may sum before words of its shared memory overflow.
#include <cstdint>
#include <span>

namespace rashpa::kernel::azimuthal {

/// The most pixels that a word can sum: it holds the sum of 16 bits of each, and in 8 bits the number of those with
/// counts.
inline constexpr std::uint32_t kMostOfWord = 255;
/// Runs begin at multiples of this number of pixels.
inline constexpr std::uint32_t kRunStep = 256;

/// The words for each bin and image in a block of threads: copies for neighbouring lanes, and sets of these for warps
/// in turn. Each group of eight consecutive pixels uses one copy, the next group the next copy. Both are powers of 2;
/// `copies` is 2 to 32.
struct BinWords {
  std::uint32_t copies = 0;
  std::uint32_t sets = 0;
};

/// Returns the longest run of pixels, a multiple of kRunStep · sets, that gives no word more than kMostOfWord pixels
/// wherever it begins. `bin_of` has the bin of each pixel, padded to a multiple of 8; `bins` means none.
std::uint32_t longest_run(std::span<const std::uint16_t> bin_of, std::uint32_t bins, BinWords words);

}  // namespace rashpa::kernel::azimuthal
