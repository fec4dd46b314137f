// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/journal/journal_format.hpp"

namespace rashpa::sink {

/// Reads a journal row by row, even while it grows: a row that is missing or incomplete is found by a later call. One
/// thread.
class JournalReader {
 public:
  /// One image: its row, its numbers in the order of the columns, its bytes in its file, its lost lines.
  struct Record {
    FrameRow row{};
    std::vector<Scalar> scalars;
    RawPlace raw{};
    std::vector<LostRun> lost;
  };

  /// Opens the reader. `journal` is a file that outlives this object. Throws FileError when it is no journal.
  explicit JournalReader(int journal);

  [[nodiscard]] const JournalHeader& header() const noexcept { return header_; }
  /// Returns the next row, valid until the next call; null when there is none at present. Throws FileError when the
  /// file cannot be read.
  const Record* next();
  /// Returns true when records have the bytes of images.
  [[nodiscard]] bool has_places() const noexcept { return sink::has_places(header_.form, version_); }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }  ///< number of rows returned
  [[nodiscard]] std::uint64_t end() const noexcept { return at_; }     ///< offset in bytes behind the last row

 private:
  bool have(std::size_t bytes);
  bool find(std::size_t fixed);
  bool read_head();
  void take_old_columns();

  int journal_;
  JournalHeader header_;
  std::uint32_t version_ = 0;
  std::vector<std::byte> read_;  // bytes of the file from read_at_ on
  std::uint64_t read_at_ = 0;
  std::uint64_t at_ = 0;             // of the next record
  std::span<const std::byte> next_;  // the bytes that have() found there
  std::uint64_t rows_ = 0;
  Record record_;
};

}  // namespace rashpa::sink
