// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: any bytes are no frame record, or one that is written and read again as it was. The first byte says
/// whether the record gets the CRC32C that it would be refused without.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/numbers/checksum.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rashpa::FrameRecord;
  if (size < 1) return 0;
  std::array<std::byte, FrameRecord::kBytes + 8> memory{};
  const std::span<std::byte> bytes = std::span(memory).first(std::min(size - 1, memory.size()));
  std::memcpy(bytes.data(), data + 1, bytes.size());
  if (data[0] % 2 != 0 && bytes.size() >= FrameRecord::kBytes) {
    const std::uint32_t crc = rashpa::crc32c(bytes.first(FrameRecord::kBytes - sizeof(std::uint32_t)));
    std::memcpy(&bytes[FrameRecord::kBytes - sizeof crc], &crc, sizeof crc);
  }
  const auto record = rashpa::decode_frame_record(bytes);
  if (!record) return 0;
  std::array<std::byte, FrameRecord::kBytes> again{};
  rashpa::encode(*record, again);
  if (rashpa::decode_frame_record(again) != record) std::abort();
  return 0;
}
