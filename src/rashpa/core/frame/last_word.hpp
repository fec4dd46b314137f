// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The words by which a device sees without the host that a source has written whole images: the word of the source's
/// last write, and the frame records. All functions are also for the device.
#include <array>
#include <cstddef>
#include <cstdint>

namespace rashpa {

/// The places of one DTP that both the source and a device reach: records in host memory, the word there or on the
/// device.
struct LastWord {
  const std::uint32_t* word = nullptr;  ///< immediate of the latest event, written behind its lines and its record
  std::byte* block = nullptr;           ///< memory with the word, to be pinned as a whole; null: the device's own
  std::size_t block_bytes = 0;
  std::byte* records = nullptr;  ///< ring of records, at the beginning of a page
  std::uint32_t slots = 0;       ///< images of the ring
  std::uint32_t dtp = 0;         ///< id
  std::uint32_t run = 0;
  std::uint32_t lines = 0;  ///< of a record
  std::uint64_t every = 1;  ///< frame of image k: phase + k · every
  std::uint64_t phase = 0;
};

/// Returns true when the immediate `word` of DTP `dtp` says that image `index` or a later one has been written. Indices
/// wrap at 2^24; images are compared with those up to 2^23 away.
constexpr bool has_written(std::uint32_t word, std::uint32_t dtp, std::uint64_t index) noexcept {
  constexpr std::uint32_t kMask = 0xFFFFFF;
  const std::uint32_t behind = (word - static_cast<std::uint32_t>(index)) & kMask;
  return word >> 24U == (dtp & 0xFFU) && behind <= kMask / 2;
}

namespace record_words {

/// A record has 31 words and the CRC32C of them.
inline constexpr std::uint32_t kWords = 31;

/// Returns the product of two remainders of CRC32C, in reflected form: bit 31 is the coefficient of x^0.
constexpr std::uint32_t product(std::uint32_t left, std::uint32_t right) noexcept {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    sum ^= right & (0U - (left >> (31U - bit) & 1U));
    right = right >> 1U ^ (0x82F63B78U & (0U - (right & 1U)));
  }
  return sum;
}

/// Returns the factors of the words: word w is multiplied by x^(8 · 4 · (31 − w)).
constexpr std::array<std::uint32_t, kWords> factors() noexcept {
  std::array<std::uint32_t, kWords> all{};
  std::uint32_t factor = 1U << 31U;
  for (std::uint32_t word = kWords; word-- > 0;) {
    for (std::uint32_t bit = 0; bit < 32; ++bit) factor = factor >> 1U ^ (0x82F63B78U & (0U - (factor & 1U)));
    all[word] = factor;
  }
  return all;
}

/// Returns the part of word `number` in the CRC32C of a record; the exclusive or of all parts is its complement.
constexpr std::uint32_t crc_part(std::uint32_t number, std::uint32_t word, std::uint32_t factor) noexcept {
  return product(number == 0 ? ~word : word, factor);
}

/// Returns true when word `number` of a record is as it must be for image `index` of the DTP. Words that the host alone
/// reads always are. A dark image, or one that was skipped, is left to the host.
constexpr bool fits(const LastWord& dtp, std::uint64_t index, std::uint32_t number, std::uint32_t word) noexcept {
  const std::uint64_t frame = dtp.phase + index * dtp.every;
  switch (number) {
    case 0:
      return word == 0x41505352U;  // magic
    case 1:
      return word == (1U | 128U << 16U);  // version and bytes
    case 2:
      return word == dtp.dtp;
    case 3:
      return (word & (1U << 0U | 1U << 3U)) == 0;  // dark, skipped
    case 4:
      return word == static_cast<std::uint32_t>(frame);
    case 5:
      return word == static_cast<std::uint32_t>(frame >> 32U);
    case 8:
      return word == static_cast<std::uint32_t>(index);
    case 9:
      return word == static_cast<std::uint32_t>(index >> 32U);
    case 11:
      return word == dtp.lines;
    case 15:
      return word == dtp.run;
    default:
      return true;
  }
}

}  // namespace record_words

}  // namespace rashpa
