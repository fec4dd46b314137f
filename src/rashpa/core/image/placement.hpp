// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// Describes where a DTP's lines lie in one image slot of a RASHPA buffer, and how slots and records repeat.
/// All members are bytes, except `lines` and `slots`. Offsets count from the start of the registered buffer (iova 0).
/// Line i of image k goes to  pixels_offset + (k mod slots)·slot_bytes + first_line_offset + i·pitch  and the image's
/// frame record to  records_offset + (k mod slots)·128.
/// Where `event_lines` is not 0, a source sends an event for each part of that number of lines. The last part's is that
/// of the image. The records of the others lie behind the skip record, parts of one slot after the other.
struct Placement {
  std::uint64_t pixels_offset = 0;      ///< of slot 0 of the ring
  std::uint64_t slot_bytes = 0;         ///< distance between slots
  std::uint32_t slots = 0;              ///< images in the ring
  std::uint64_t first_line_offset = 0;  ///< of this DTP's line 0 in a slot: Y0·pitch + X0·pixel_bytes
  std::uint64_t pitch = 0;              ///< distance between lines in the slot
  std::uint32_t line_bytes = 0;         ///< bytes of one line of the region
  std::uint32_t lines = 0;              ///< lines of the region
  std::uint64_t records_offset = 0;     ///< of this DTP's record ring (slots · 128 bytes), then of its skip record
  std::uint32_t event_lines = 0;        ///< lines of a part with an event of its own; 0: an image is one part

  /// Returns the number of parts, which is that of the events of an image.
  [[nodiscard]] constexpr std::uint32_t parts() const noexcept {
    return event_lines == 0 || event_lines >= lines ? 1 : (lines - 1) / event_lines + 1;
  }
  /// Returns the line behind the last one of a part.
  [[nodiscard]] constexpr std::uint32_t part_end(std::uint32_t part) const noexcept {
    return part + 1 >= parts() ? lines : (part + 1) * event_lines;
  }
  /// Returns the number of the event that ends a part of image `index`, as immediates have it.
  [[nodiscard]] constexpr std::uint64_t event_of(std::uint64_t index, std::uint32_t part) const noexcept {
    return index * parts() + part;
  }
  /// Returns the number of the event that ends image `index`.
  [[nodiscard]] constexpr std::uint64_t event_of(std::uint64_t index) const noexcept {
    return event_of(index, parts() - 1);
  }
  /// Returns the offset of the record of a part that is not the last one.
  [[nodiscard]] constexpr std::uint64_t part_offset(std::uint64_t index, std::uint32_t part) const noexcept {
    return skip_offset() + (1 + (index % slots) * (parts() - 1) + part) * 128;
  }
  /// Returns the bytes of all records.
  [[nodiscard]] constexpr std::uint64_t records_bytes() const noexcept {
    return (1 + std::uint64_t{slots} * parts()) * 128;
  }
  [[nodiscard]] constexpr std::uint64_t payload_bytes() const noexcept {
    return static_cast<std::uint64_t>(line_bytes) * lines;
  }
  /// Returns the destination offset of line 0 of image `index`.
  [[nodiscard]] constexpr std::uint64_t image_offset(std::uint64_t index) const noexcept {
    return pixels_offset + (index % slots) * slot_bytes + first_line_offset;
  }
  [[nodiscard]] constexpr std::uint64_t record_offset(std::uint64_t index) const noexcept {
    return records_offset + (index % slots) * 128;
  }
  /// Returns the offset of the record that lists skipped images. It has no slot, so a source without a granted slot may
  /// write it.
  [[nodiscard]] constexpr std::uint64_t skip_offset() const noexcept { return records_offset + slots * 128ULL; }
  /// Returns true when consecutive lines are contiguous at the destination, so that runs may be merged.
  [[nodiscard]] constexpr bool contiguous() const noexcept { return pitch == line_bytes || lines == 1; }
};

}  // namespace rashpa
