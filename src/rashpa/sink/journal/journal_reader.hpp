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

/// Reads a journal row by row, also one that grows meanwhile: a row that is not there yet, or not whole, is found by a
/// later call. Used by one thread.
class JournalReader {
 public:
  /// One image: the values of its row, its numbers in the order of the columns, its bytes in its file, its lost lines.
  struct Record {
    FrameRow row{};
    std::vector<Scalar> scalars;
    RawPlace raw{};
    std::vector<LostRun> lost;
  };

  /// `journal`: a file that outlives this object. Throws FileError when it is none.
  explicit JournalReader(int journal);

  [[nodiscard]] const JournalHeader& header() const noexcept { return header_; }
  /// The next row, valid until the next call; null when there is none, or none yet. Throws FileError when the file
  /// cannot be read.
  const Record* next();
  /// Returns true when records say which bytes an image has.
  [[nodiscard]] bool has_places() const noexcept { return sink::has_places(header_.form, version_); }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }  ///< that were returned
  [[nodiscard]] std::uint64_t end() const noexcept { return at_; }     ///< where the last one ends, in bytes

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
