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

/// Describes where a reader begins.
enum class Begin : std::uint8_t {
  oldest,  ///< with the oldest entry that is there
  next,    ///< with the next published entry
};

/// Describes how a reader waits.
enum class Wait : std::uint8_t {
  sleep,  ///< until the writer wakes it
  spin,   ///< with a processor of its own, and some microseconds earlier
};

/// The result of a look for the next entry.
enum class Got : std::uint8_t {
  record,   ///< record() is the next one
  nothing,  ///< there is none yet
  ended,    ///< the run is over, and all was read
};

/// Reads a ring, with a position of its own. The file comes from another process and is not trusted: its places and
/// sizes are checked before they are used. One thread.
class RingReader {
 public:
  /// Throws FileError when there is no such file, or it is no ring, of another version, or damaged.
  RingReader(const std::string& path, Begin begin);

  /// JSON: the subject of the entries.
  [[nodiscard]] std::string_view description() const noexcept { return description_; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::span<const TableShape> tables() const noexcept { return tables_; }

  /// Goes on with this entry, if it is there or comes next, and with the oldest one otherwise; those between count as
  /// lost.
  void go_to(std::uint64_t position) noexcept;
  /// The next entry, if there is one. Throws FileError when the file is damaged, or when its writer has gone without
  /// ending it and all that it had published is read.
  Got next();
  /// The same, waiting for one.
  Got next(std::chrono::nanoseconds timeout, Wait wait);
  /// The words of the last Got::record: its entry up to the last scalar, then the rows of each table. Valid until the
  /// next call.
  [[nodiscard]] std::span<const std::uint64_t> record() const noexcept { return {record_.data(), record_words_}; }
  /// Entries that were written over before they were read.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
  /// The entry that next() looks for.
  [[nodiscard]] std::uint64_t position() const noexcept { return next_; }

 private:
  void open(const std::string& path);
  void check_layout();
  [[nodiscard]] std::uint64_t fixed(std::size_t word, std::uint64_t least, std::uint64_t most, const char* what) const;
  /// Returns false when it was written over meanwhile.
  bool copy_entry();
  bool copy_rows();
  void skip(std::uint64_t published) noexcept;
  [[nodiscard]] bool writer_is_gone() const noexcept;
  /// Throws FileError when another process has made the file shorter: the last words may be zeros.
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
