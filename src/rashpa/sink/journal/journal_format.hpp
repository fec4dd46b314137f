// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The bytes of a journal, for its writers and readers: a head, a block that describes the columns, and records with
/// checksums. Records have a fixed length, apart from their lost lines.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"

namespace rashpa::sink {

template <typename T>
std::span<const std::byte> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span(&value, 1));
}

/// The head of a journal, in the byte order of the machine; journals are read on the machine that wrote them, or on a
/// similar one.
struct JournalHead {
  std::uint64_t magic = 0x314C4E4A41485352;  // "RSHAJNL1" in memory
  std::uint64_t images = 0, every = 1, phase = 0;
  std::uint32_t width = 0, height = 0;
  std::uint32_t pixel = 0, form = 0;
  std::uint32_t version = 2;  // 1: three columns that all pipelines had, in the row itself; 3: places in every form
  std::uint32_t crc = 0;
  [[nodiscard]] std::uint32_t own_crc() const noexcept {
    return crc32c(bytes_of(*this).first(sizeof(*this) - sizeof(crc)));
  }
};
static_assert(std::is_trivially_copyable_v<FrameRow> && sizeof(FrameRow) == 64);
static_assert(std::is_trivially_copyable_v<LostRun> && sizeof(LostRun) == 12);
static_assert(std::is_trivially_copyable_v<RawPlace> && sizeof(RawPlace) == 24);
static_assert(std::is_trivially_copyable_v<Scalar> && sizeof(Scalar) == 8);

/// Returns the version that a run of this form writes. That of raw files, which outlive their run, has not changed.
constexpr std::uint32_t version_of(ImageForm form) noexcept { return form == ImageForm::raw ? 2 : 3; }
/// Returns true when records contain a RawPlace.
constexpr bool has_places(ImageForm form, std::uint32_t version) noexcept {
  return form == ImageForm::raw || version >= 3;
}

/// Returns the bytes of a record without its lost runs.
constexpr std::size_t record_bytes(std::size_t columns, bool has_places) noexcept {
  return sizeof(FrameRow) + columns * sizeof(Scalar) + (has_places ? sizeof(RawPlace) : 0) + sizeof(std::uint32_t);
}

/// Returns columns and reasons as lines, which follow the head: the number of bytes, the text, its checksum.
[[nodiscard]] std::vector<std::byte> block_of(const Results& results);
/// Returns the bytes of a block that begins with `begin`; 0 when `begin` is too short.
[[nodiscard]] std::uint64_t block_bytes(std::span<const std::byte> begin) noexcept;
/// Reads the output of block_of(); returns false when it is damaged.
[[nodiscard]] bool read_block(std::span<const std::byte> block, Results& results);

}  // namespace rashpa::sink
