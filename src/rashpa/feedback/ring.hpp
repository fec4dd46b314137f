// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A ring in a mapped file with the decision on each image, for programs that steer the experiment. One process writes;
/// any number of readers read at their own positions, unseen by the writer. This header is the layout, which
/// docs/reference/feedback.md explains; RingWriter and RingReader are the two ends.
/// All words are little-endian, 64 bits, at multiples of 8 bytes. The file has a head, the description (JSON), entries
/// of one size, and a ring of bytes for rows of tables.
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "rashpa/core/frame/results.hpp"

namespace rashpa::feedback {

static_assert(std::endian::native == std::endian::little, "words of rings are little-endian, and not turned round");

/// The magic word, "RASHPAFB".
inline constexpr std::uint64_t kMagic = 0x4246'4150'4853'4152;
inline constexpr std::uint64_t kVersion = 1;

/// The words of the head by number. All others are 0.
namespace head {
inline constexpr std::size_t kMagic = 0;
inline constexpr std::size_t kVersion = 1;
inline constexpr std::size_t kFileBytes = 2;
inline constexpr std::size_t kDescriptionAt = 3;  ///< byte offset in the file
/// bytes of the description's text, padded with zeros to whole words
inline constexpr std::size_t kDescriptionBytes = 4;
inline constexpr std::size_t kEntriesAt = 5;   ///< byte offset in the file
inline constexpr std::size_t kEntries = 6;     ///< number of entries in the ring
inline constexpr std::size_t kEntryBytes = 7;  ///< bytes from one entry to the next
inline constexpr std::size_t kRowsAt = 8;      ///< byte offset in the file
inline constexpr std::size_t kRowsBytes = 9;   ///< bytes of the room for rows; 0: the pipeline makes no table
inline constexpr std::size_t kColumns = 10;    ///< numbers in an entry
inline constexpr std::size_t kTables = 11;
/// One word for each table: its columns in the low half, the most rows of an image in the high half.
inline constexpr std::size_t kTable = 12;
// words that change while the run goes on
inline constexpr std::size_t kPublished = 16;  ///< entries published so far; 0 … kPublished − 1 were written
inline constexpr std::size_t kReserved = 17;   ///< bytes of rows so far, including those being written
/// A word whose low half is a futex. It counts steps of the ring; sleeping readers are woken after each step.
inline constexpr std::size_t kBell = 18;
inline constexpr std::size_t kEnded = 19;  ///< 1: the run is over, and nothing more comes
inline constexpr std::size_t kWords = 512;
}  // namespace head

/// The words of an entry by number. Entry n lies at place n mod `kEntries`.
namespace entry {
inline constexpr std::size_t kSequence = 0;  ///< 2n + 1 while entry n is being written, 2n + 2 when it is complete
inline constexpr std::size_t kIndex = 1;
inline constexpr std::size_t kFrame = 2;
inline constexpr std::size_t kTimestamp = 3;  ///< ns TAI, of the detector
/// A word with these parts, from the lowest bit: flags of the frame record (32 bits); completeness, decision, veto
/// reason, error reason (8 bits each).
inline constexpr std::size_t kFate = 4;
inline constexpr std::size_t kLastPacket = 5;  ///< ns, CLOCK_MONOTONIC; 0: nothing came
inline constexpr std::size_t kDecided = 6;     ///< ns, CLOCK_MONOTONIC
inline constexpr std::size_t kPublished = 7;   ///< ns, CLOCK_MONOTONIC
/// Two words for each of kMostTables: the offset of its rows, in bytes since the beginning of the run, and the number
/// of rows.
inline constexpr std::size_t kRows = 8;
inline constexpr std::size_t kMeasured = 12;  ///< 1: the pipeline has read the pixels
inline constexpr std::size_t kScalars = 16;   ///< one word for each column
constexpr std::size_t rows_at(std::size_t table) noexcept { return kRows + 2 * table; }
static_assert(kRows + 2 * kMostTables <= kMeasured);
}  // namespace entry

inline constexpr std::uint64_t kWordBytes = sizeof(std::uint64_t);
/// The bounds to which each reader holds a file.
inline constexpr std::uint64_t kMostEntries = 1U << 24U;
inline constexpr std::uint64_t kMostDescriptionBytes = 1U << 20U;
inline constexpr std::uint64_t kMostColumnsOfFile = 64;
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 36U;

/// The shape of a table, as in head::kTable.
struct TableShape {
  std::uint32_t columns = 0;
  std::uint32_t capacity = 0;  ///< most rows of an image
  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return columns * kWordBytes; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return capacity * row_bytes(); }
};

/// Returns the place of a piece of `bytes` bytes that is requested at offset `from` (bytes since the beginning of the
/// run). The rows of one image lie together: a piece that does not fit before the end of the room begins at its start.
constexpr std::uint64_t row_place(std::uint64_t from, std::uint64_t bytes, std::uint64_t room) noexcept {
  const std::uint64_t left = room - from % room;
  return bytes <= left ? from : from + left;
}

/// Accesses to words that the writer's process and readers' processes share. A store releases the writer's earlier
/// stores, and a load acquires them before its later loads: so a reader copies its words before it reads the sequence.
inline void store(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}
inline std::uint64_t load(const std::uint64_t& word) noexcept {
  // acquire: atomic_ref wants what may be written; loads alone are made
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}

}  // namespace rashpa::feedback
