// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rashpa {

/// The payload of the event (schema/frame_record.md): the facts of one image of one DTP in 128 bytes.
struct FrameRecord {
  using Words = std::array<std::uint64_t, 6>;
  static constexpr std::size_t kBytes = 128;
  static constexpr std::uint32_t kMagic = 0x41505352;  // "RSPA" in memory
  static constexpr std::uint16_t kVersion = 1;

  enum Flag : std::uint32_t {
    dark = 1U << 0,
    laser = 1U << 1,
    last_of_run = 1U << 2,
    skipped = 1U << 3  ///< not an image: this one, and all earlier ones that were not sent, will never come
  };

  std::uint32_t dtp = 0;             ///< DTP id, 0 … 65535
  std::uint32_t flags = 0;           ///< Flag bits
  std::uint64_t frame_number = 0;    ///< from 0
  std::uint64_t timestamp_ns = 0;    ///< TAI
  std::uint64_t index = 0;           ///< index k of the image in the DTP's time slice
  std::uint32_t slot = 0;            ///< ring index: k mod slots
  std::uint32_t lines = 0;           ///< lines of the region
  std::uint64_t payload_bytes = 0;   ///< lines × bytes of a line
  std::uint32_t payload_crc32c = 0;  ///< of the lines in order, without the gaps between them
  std::uint32_t run = 0;             ///< run number, so that a stray record of an earlier run is recognised
  Words user{};                      ///< words of skip events, or words of the detector about an image (link::Heading)
  friend bool operator==(const FrameRecord&, const FrameRecord&) = default;
};

/// Writes the record in wire format, little endian, with its own CRC32C in the last four bytes.
void encode(const FrameRecord& record, std::span<std::byte, FrameRecord::kBytes> out) noexcept;

/// Reads a record from untrusted bytes. Returns nothing when magic, version, size or the record's CRC32C is wrong.
std::optional<FrameRecord> decode_frame_record(std::span<const std::byte> bytes) noexcept;

/// Returns the immediate: (DTP id mod 2^8) << 24 | (image index mod 2^24). The queue pair distinguishes DTPs with equal
/// immediates.
constexpr std::uint32_t immediate_of(std::uint32_t dtp, std::uint64_t index) noexcept {
  return (dtp << 24) | static_cast<std::uint32_t>(index & 0xFFFFFFU);
}

}  // namespace rashpa
