// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace rashpa::memory {

enum class FileAccess : std::uint8_t { read, write };

/// Bytes of a file in the memory of this process, of a file that others may shorten meanwhile: a page that is gone
/// would end the process by SIGBUS. Here memory of this process alone takes its place and that of all behind it, of
/// zeros, and `cut()` says so from then on. Accesses cost nothing for that.
class FileMapping {
 public:
  FileMapping() noexcept = default;
  /// The first `bytes` of the open file `file`. `data()` is null, with errno, when that cannot be.
  FileMapping(int file, std::size_t bytes, FileAccess access) noexcept;
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();
  [[nodiscard]] void* data() const noexcept { return data_; }
  /// Returns true when the file was found shorter than its mapping. Any thread.
  [[nodiscard]] bool cut() const noexcept;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t watch_ = 0;  ///< place among those that the handler knows
};

}  // namespace rashpa::memory
