// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The storage cell of an image, in the flags of its frame record (schema/frame_record.md). Detectors without storage
/// cells leave these bits 0, which means cell 0.
#include <cstdint>

namespace rashpa {

inline constexpr unsigned kCellShift = 8;
inline constexpr std::uint32_t kCells = 16;  ///< the number of cells that four bits distinguish
inline constexpr std::uint32_t kCellBits = (kCells - 1) << kCellShift;
/// Flag for an image whose modules name different cells. Records never have it.
inline constexpr std::uint32_t kCellsDiffer = 1U << 12U;
/// The result of cell_of() where the cells of the modules differ.
inline constexpr std::uint8_t kNoCell = 0xFF;

/// Returns the storage cell of an image with these flags, or kNoCell.
constexpr std::uint8_t cell_of(std::uint32_t flags) noexcept {
  if ((flags & kCellsDiffer) != 0) return kNoCell;
  return static_cast<std::uint8_t>((flags & kCellBits) >> kCellShift);
}

/// Returns the record flags that name the cell.
constexpr std::uint32_t flags_of_cell(std::uint32_t cell) noexcept { return cell << kCellShift & kCellBits; }

/// Returns the flags `seen` of an image joined with `more`, those of one more DTP: the union of all bits, except that
/// the cell stays one.
constexpr std::uint32_t joined_flags(std::uint32_t seen, std::uint32_t more) noexcept {
  const bool differ = ((seen ^ more) & kCellBits) != 0;
  return (seen | (more & ~kCellBits)) | (differ ? kCellsDiffer : 0U);
}

}  // namespace rashpa
