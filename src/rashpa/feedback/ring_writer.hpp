// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/feedback/ring.hpp"
#include "rashpa/memory/file_mapping.hpp"

namespace rashpa::feedback {

/// The size of a ring.
struct RingSize {
  std::uint64_t entries = 4096;      ///< images that the ring holds before the oldest is overwritten
  std::uint64_t rows_bytes = 0;      ///< bytes for rows; 0: enough for most runs; at least those of two images
  std::uint32_t columns = 0;         ///< numbers of an image
  std::vector<TableShape> tables{};  ///< at most kMostTables
};

/// The writer of a ring. It holds a lock on the file until its process ends, by which readers know whether more entries
/// can come. One thread publishes; no call waits, allocates or locks.
class RingWriter {
 public:
  /// Makes a ring at `path`, in place of one of an earlier run; an empty `path` makes a file without a name. Throws
  /// ConfigError when the path is another kind of file or the ring of an active receiver, ResourceError when there is
  /// no room.
  RingWriter(const std::string& path, std::string_view description, const RingSize& size);
  ~RingWriter();
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

  /// Publishes the next entry; only accepted images have rows.
  void publish(const StackImage& image, std::int64_t decided_ns) noexcept;
  /// Wakes sleeping readers by a system call.
  void wake() noexcept;
  /// Marks the end of the run for readers.
  void end() noexcept;

  /// Returns the number of published entries. Any thread.
  [[nodiscard]] std::uint64_t published() const noexcept { return load(words_[head::kPublished]); }
  /// Returns true when another process has truncated the file; readers then reject it. Any thread.
  [[nodiscard]] bool cut() const noexcept { return mapping_.cut(); }
  /// Returns the bytes of the file. most_record_bytes() returns those of the largest record with its description.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return words_[head::kFileBytes]; }
  [[nodiscard]] std::uint64_t most_record_bytes() const noexcept;
  /// Returns the path by which another process opens the ring: its file, or this process's descriptor of a file without
  /// a name.
  [[nodiscard]] std::string open_path() const;

 private:
  void copy_rows(const StackImage& image, std::span<std::uint64_t> to) noexcept;

  std::string path_;
  RingSize size_;
  FileDescriptor file_;
  memory::FileMapping mapping_;
  std::uint64_t* words_ = nullptr;
  std::uint64_t entries_at_ = 0;  // words
  std::uint64_t entry_words_ = 0;
  std::uint64_t rows_at_ = 0;   // words
  std::uint64_t next_ = 0;      // entry
  std::uint64_t reserved_ = 0;  // bytes of rows
};

}  // namespace rashpa::feedback
