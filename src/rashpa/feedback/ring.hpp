// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A ring in a file that others map: the decision on each image, for programs that steer the experiment by it. One
/// process writes, any number read, each where it likes; nothing that a reader does is seen by the writer. This is the
/// layout, docs/reference/feedback.md explains it; RingWriter and RingReader are the two ends.
///
/// Everything is little-endian words of 64 bits at multiples of 8 bytes. The file is a head, the description (JSON),
/// entries of one size, and a ring of bytes for rows of tables.
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "rashpa/core/frame/results.hpp"

namespace rashpa::feedback {

static_assert(std::endian::native == std::endian::little, "words of rings are little-endian, and not turned round");

/// "RASHPAFB", read as a word.
inline constexpr std::uint64_t kMagic = 0x4246'4150'4853'4152;
inline constexpr std::uint64_t kVersion = 1;

/// Words of the head, by place. All others are 0.
namespace head {
inline constexpr std::size_t kMagic = 0;
inline constexpr std::size_t kVersion = 1;
inline constexpr std::size_t kFileBytes = 2;
inline constexpr std::size_t kDescriptionAt = 3;     ///< byte of the file
inline constexpr std::size_t kDescriptionBytes = 4;  ///< of its text; words hold it, the rest of the last one is 0
inline constexpr std::size_t kEntriesAt = 5;         ///< byte of the file
inline constexpr std::size_t kEntries = 6;           ///< how many there is room for
inline constexpr std::size_t kEntryBytes = 7;        ///< of one, from one to the next
inline constexpr std::size_t kRowsAt = 8;            ///< byte of the file
inline constexpr std::size_t kRowsBytes = 9;         ///< room for rows; 0: the pipeline makes no table
inline constexpr std::size_t kColumns = 10;          ///< numbers of an image
inline constexpr std::size_t kTables = 11;
/// One for each table: columns in the low half, most rows of an image in the high half.
inline constexpr std::size_t kTable = 12;
// words that change while the run goes on
inline constexpr std::size_t kPublished = 16;  ///< entries so far: 0 … kPublished − 1 were written
inline constexpr std::size_t kReserved = 17;   ///< bytes of rows so far, those that are being written included
/// The word whose low half is a futex: it counts what there is to be seen, and sleepers are woken after each step.
inline constexpr std::size_t kBell = 18;
inline constexpr std::size_t kEnded = 19;  ///< 1: the run is over, nothing more comes
inline constexpr std::size_t kWords = 512;
}  // namespace head

/// Words of an entry, by place; entry n lies at n mod `kEntries`.
namespace entry {
inline constexpr std::size_t kSequence = 0;  ///< 2n + 1 while entry n is written, 2n + 2 when it is whole
inline constexpr std::size_t kIndex = 1;
inline constexpr std::size_t kFrame = 2;
inline constexpr std::size_t kTimestamp = 3;  ///< ns TAI, of the detector
/// A word of these parts, from the lowest bit: flags of the frame record (32 bits); completeness, decision, reason of a
/// veto, reason of an error (8 bits each).
inline constexpr std::size_t kFate = 4;
inline constexpr std::size_t kLastPacket = 5;  ///< ns, CLOCK_MONOTONIC; 0: nothing came
inline constexpr std::size_t kDecided = 6;     ///< ns, CLOCK_MONOTONIC
inline constexpr std::size_t kPublished = 7;   ///< ns, CLOCK_MONOTONIC
/// Two words for each of kMostTables: where its rows begin, in bytes of rows since the beginning of the run, and
/// how many rows there are.
inline constexpr std::size_t kRows = 8;
inline constexpr std::size_t kMeasured = 12;  ///< 1: the pipeline has looked at the pixels
inline constexpr std::size_t kScalars = 16;   ///< as many as there are columns
constexpr std::size_t rows_at(std::size_t table) noexcept { return kRows + 2 * table; }
static_assert(kRows + 2 * kMostTables <= kMeasured);
}  // namespace entry

inline constexpr std::uint64_t kWordBytes = sizeof(std::uint64_t);
/// Bounds that every reader holds a file to.
inline constexpr std::uint64_t kMostEntries = 1U << 24U;
inline constexpr std::uint64_t kMostDescriptionBytes = 1U << 20U;
inline constexpr std::uint64_t kMostColumnsOfFile = 64;
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 36U;

/// A table as head::kTable has it.
struct TableShape {
  std::uint32_t columns = 0;
  std::uint32_t capacity = 0;  ///< most rows of an image
  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return columns * kWordBytes; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return capacity * row_bytes(); }
};

/// Returns where a piece of `bytes` begins that is asked for at `from`, bytes since the beginning: rows of one image
/// lie together, and one that does not fit before the end of the room begins at its start.
constexpr std::uint64_t row_place(std::uint64_t from, std::uint64_t bytes, std::uint64_t room) noexcept {
  const std::uint64_t left = room - from % room;
  return bytes <= left ? from : from + left;
}

/// Words that the writer's and a reader's process share. A store releases the writer's earlier stores, and a load
/// acquires them before its later loads: a reader has copied its words before it looks at the sequence.
inline void store(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}
inline std::uint64_t load(const std::uint64_t& word) noexcept {
  // acquire: atomic_ref wants what may be written; loads alone are made
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}

}  // namespace rashpa::feedback
