// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The check of a record that a device makes before it takes an image, word by word, for tests without one.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/last_word.hpp"

namespace rashpa::record_words {

/// Returns true when the record is one of image `index` of the DTP that a device takes.
inline bool all_good(const LastWord& dtp, std::uint64_t index, std::span<const std::byte, FrameRecord::kBytes> record) {
  constexpr auto kFactors = factors();
  std::array<std::uint32_t, kWords + 1> words{};
  std::memcpy(words.data(), record.data(), record.size());
  std::uint32_t crc = 0;
  for (std::uint32_t number = 0; number < kWords; ++number) {
    const Expected be = expected(dtp, index, number);
    if ((words[number] & be.mask) != be.value) return false;
    crc ^= products<1>({number == 0 ? ~words[number] : words[number]}, kFactors[number])[0];
  }
  return ~crc == words[kWords];
}
/// Does the same for the record that lies at the DTP's place for the image.
inline bool all_good(const LastWord& dtp, std::uint64_t index) {
  const std::byte* const record = dtp.records + index % dtp.slots * FrameRecord::kBytes;
  return all_good(dtp, index, std::span<const std::byte, FrameRecord::kBytes>(record, FrameRecord::kBytes));
}

}  // namespace rashpa::record_words
