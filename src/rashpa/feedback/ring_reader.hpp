// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/feedback/ring.hpp"
#include "rashpa/memory/file_mapping.hpp"

namespace rashpa::feedback {

/// The position at which a reader begins.
enum class Begin : std::uint8_t {
  oldest,  ///< with the oldest entry in the ring
  next,    ///< with the next entry that is published
};

/// The way in which a reader waits.
enum class Wait : std::uint8_t {
  sleep,  ///< until the writer wakes it
  spin,   ///< by polling, which keeps a processor busy and is some microseconds faster
};

/// The result of reading the next entry.
enum class Got : std::uint8_t {
  record,   ///< record() has the next entry
  nothing,  ///< no entry is there yet
  ended,    ///< the run is over, and all entries were read
};

/// Reads a ring from its own position. The file comes from another process and is untrusted: its places and sizes are
/// checked before use. One thread.
class RingReader {
 public:
  /// Opens a ring. Throws FileError when there is no such file, or it is no ring, of another version, or damaged.
  RingReader(const std::string& path, Begin begin);

  /// Returns the JSON description of the entries.
  [[nodiscard]] std::string_view description() const noexcept { return description_; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::span<const TableShape> tables() const noexcept { return tables_; }

  /// Continues with entry `position` if it is in the ring or comes next, and with the oldest entry otherwise; skipped
  /// entries count as lost.
  void go_to(std::uint64_t position) noexcept;
  /// Reads the next entry without waiting. Throws FileError when the file is damaged, or when the writer died before
  /// the end and all its entries were read.
  Got next();
  /// Reads the next entry, and waits up to `timeout` for it.
  Got next(std::chrono::nanoseconds timeout, Wait wait);
  /// Returns the words of the last Got::record: the entry up to its last scalar, then the rows of each table. Valid
  /// until the next call.
  [[nodiscard]] std::span<const std::uint64_t> record() const noexcept { return {record_.data(), record_words_}; }
  /// Returns the number of entries that were overwritten before they were read.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
  /// Returns the number of the entry that next() will read.
  [[nodiscard]] std::uint64_t position() const noexcept { return next_; }

 private:
  void open(const std::string& path);
  void check_layout();
  [[nodiscard]] std::uint64_t fixed(std::size_t word, std::uint64_t least, std::uint64_t most, const char* what) const;
  /// Copies the entry; returns false when it was overwritten during the copy.
  bool copy_entry();
  bool copy_rows();
  void skip(std::uint64_t published) noexcept;
  [[nodiscard]] bool writer_is_gone() const noexcept;
  /// Throws FileError when another process has truncated the file, as the last words may be zeros.
  void check_whole() const;
  [[noreturn]] void damaged(std::string_view what) const;

  std::string path_;
  FileDescriptor file_;
  memory::FileMapping mapping_;
  const std::uint64_t* words_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::string description_;
  std::uint64_t entries_ = 0;
  const std::uint64_t* entries_at_ = nullptr;
  std::uint64_t entry_words_ = 0;
  const std::uint64_t* rows_at_ = nullptr;
  std::uint64_t rows_bytes_ = 0;
  std::uint64_t columns_ = 0;
  std::vector<TableShape> tables_;
  std::vector<std::uint64_t> record_;
  std::size_t record_words_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace rashpa::feedback
