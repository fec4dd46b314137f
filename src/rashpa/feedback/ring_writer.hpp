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
  std::uint64_t entries = 4096;      ///< images, before the oldest is written over
  std::uint64_t rows_bytes = 0;      ///< 0: as many as most runs need; never less than two images have
  std::uint32_t columns = 0;         ///< numbers of an image
  std::vector<TableShape> tables{};  ///< at most kMostTables
};

/// The writer of a ring. It holds a lock on the file as long as it lives, however it ends: by that, readers know
/// whether more can come. One thread publishes; no call of it waits, allocates or locks.
class RingWriter {
 public:
  /// `path`: of the file, which replaces one that is left of an earlier run; empty: a file without a name. Throws
  /// ConfigError when the path is another file's or the ring of a receiver that lives, ResourceError when there is no
  /// room.
  RingWriter(const std::string& path, std::string_view description, const RingSize& size);
  ~RingWriter();
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

  /// The next entry. Rows are those of accepted images.
  void publish(const StackImage& image, std::int64_t decided_ns) noexcept;
  /// Wakes readers that sleep: a system call.
  void wake() noexcept;
  /// Tells readers that nothing more comes.
  void end() noexcept;

  /// Any thread.
  [[nodiscard]] std::uint64_t published() const noexcept { return load(words_[head::kPublished]); }
  /// Returns true when somebody has made the file shorter: from then on nobody reads what is published. Any thread.
  [[nodiscard]] bool cut() const noexcept { return mapping_.cut(); }
  /// The bytes of the file, and of the largest record with the description that goes with it.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return words_[head::kFileBytes]; }
  [[nodiscard]] std::uint64_t most_record_bytes() const noexcept;
  /// Returns where another one opens it: its path, or, where it has no name, that of the open file in this process.
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
