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

/// Returns how many images from `first` on, `most` or fewer, have been written when the word of DTP `dtp` is `word`.
/// Indices wrap at 2^24; images are compared with those up to 2^23 away.
constexpr std::uint32_t written_since(std::uint32_t word, std::uint32_t dtp, std::uint64_t first,
                                      std::uint32_t most) noexcept {
  constexpr std::uint32_t kMask = 0xFFFFFF;
  const std::uint32_t behind = (word - static_cast<std::uint32_t>(first)) & kMask;
  if (word >> 24U != (dtp & 0xFFU) || behind > kMask / 2) return 0;
  return behind < most ? behind + 1 : most;
}

/// Returns true when the immediate `word` of DTP `dtp` says that image `index` or a later one has been written.
constexpr bool has_written(std::uint32_t word, std::uint32_t dtp, std::uint64_t index) noexcept {
  return written_since(word, dtp, index, 1) == 1;
}

namespace record_words {

/// A record has 31 words and the CRC32C of them.
inline constexpr std::uint32_t kWords = 31;

/// Returns the products of remainders of CRC32C with one factor, in reflected form: bit 31 is the coefficient of x^0.
template <std::size_t N>
constexpr std::array<std::uint32_t, N> products(const std::array<std::uint32_t, N>& left,
                                                std::uint32_t factor) noexcept {
  std::array<std::uint32_t, N> sums{};
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    for (std::size_t i = 0; i < N; ++i) sums[i] ^= factor & (0U - (left[i] >> (31U - bit) & 1U));
    factor = factor >> 1U ^ (0x82F63B78U & (0U - (factor & 1U)));
  }
  return sums;
}

/// Returns the factors of the words: word w is multiplied by x^(8 · 4 · (31 − w)), the first one inverted. The
/// exclusive or of all products is the complement of the CRC32C.
constexpr std::array<std::uint32_t, kWords> factors() noexcept {
  std::array<std::uint32_t, kWords> all{};
  std::uint32_t factor = 1U << 31U;
  for (std::uint32_t word = kWords; word-- > 0;) {
    for (std::uint32_t bit = 0; bit < 32; ++bit) factor = factor >> 1U ^ (0x82F63B78U & (0U - (factor & 1U)));
    all[word] = factor;
  }
  return all;
}

/// The bits of a record's word that a device checks, and their value.
struct Expected {
  std::uint32_t mask = 0;
  std::uint32_t value = 0;
};
/// Returns word `number` of the record of image `index` as it must be. Words that the host alone reads are as they are.
/// A dark image, or one that was skipped, is left to the host. Threads of a warp take one word each, by one path.
constexpr Expected expected(const LastWord& dtp, std::uint64_t index, std::uint32_t number) noexcept {
  const std::uint64_t frame = dtp.phase + index * dtp.every;
  Expected word;
  const auto be = [&](std::uint32_t which, std::uint32_t value, std::uint32_t mask = ~0U) {
    word.mask = number == which ? mask : word.mask;
    word.value = number == which ? value : word.value;
  };
  be(0, 0x41505352U);       // magic
  be(1, 1U | 128U << 16U);  // version and bytes
  be(2, dtp.dtp);
  be(3, 0, 1U << 0U | 1U << 3U);  // dark, skipped
  be(4, static_cast<std::uint32_t>(frame));
  be(5, static_cast<std::uint32_t>(frame >> 32U));
  be(8, static_cast<std::uint32_t>(index));
  be(9, static_cast<std::uint32_t>(index >> 32U));
  be(11, dtp.lines);
  be(15, dtp.run);
  return word;
}

}  // namespace record_words

}  // namespace rashpa
