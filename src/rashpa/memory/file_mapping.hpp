// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace rashpa::memory {

enum class FileAccess : std::uint8_t { read, write };

/// A mapping of a file that other processes may truncate, where an access to a lost page would end this process by
/// SIGBUS. Here, private zero pages replace the lost page and all behind it, and cut() returns true from then on.
/// Accesses have no extra cost.
class FileMapping {
 public:
  FileMapping() noexcept = default;
  /// Maps the first `bytes` bytes of the open file `file`. On failure data() is null, and errno is set.
  FileMapping(int file, std::size_t bytes, FileAccess access) noexcept;
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();
  [[nodiscard]] void* data() const noexcept { return data_; }
  /// Returns true when the file was found to be shorter than its mapping. Any thread.
  [[nodiscard]] bool cut() const noexcept;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t watch_ = 0;  ///< number in the list of the signal handler
};

}  // namespace rashpa::memory
