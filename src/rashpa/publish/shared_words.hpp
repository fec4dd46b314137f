// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Memory that a process and the child that publishes for it have in common. It holds numbers and bytes, no pointers:
/// the parent trusts a child's counts alone.
#include <cstddef>
#include <new>
#include <string_view>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/memory/file_mapping.hpp"

namespace rashpa::publish {

/// `bytes` of zeros in a file without a name, whose size nobody can change. One that is handed to a child by its
/// descriptor.
class SharedMemory {
 public:
  /// Makes the memory of the parent. Throws ResourceError.
  SharedMemory(std::size_t bytes, std::string_view what);
  /// Opens in a child the memory that it was given. Throws ResourceError, also when it is smaller.
  SharedMemory(int file, std::size_t bytes);
  [[nodiscard]] int file() const noexcept { return file_.get(); }
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(mapping_.data()); }

 private:
  void map(std::size_t bytes, std::string_view what);
  FileDescriptor file_;
  memory::FileMapping mapping_;
};

/// Words of type T at the beginning of such memory: atomics, whose zeros are their first values.
template <typename Words>
class SharedWords {
 public:
  explicit SharedWords(std::string_view what, std::size_t behind = 0) : memory_(sizeof(Words) + behind, what) {
    new (memory_.data()) Words();
  }
  /// Opens the words of a child.
  explicit SharedWords(int file, std::size_t behind = 0) : memory_(file, sizeof(Words) + behind) {}
  [[nodiscard]] int file() const noexcept { return memory_.file(); }
  Words* operator->() const noexcept { return words(); }
  Words& operator*() const noexcept { return *words(); }
  /// The bytes behind them.
  [[nodiscard]] std::byte* behind() const noexcept { return memory_.data() + sizeof(Words); }

 private:
  [[nodiscard]] Words* words() const noexcept { return std::launder(reinterpret_cast<Words*>(memory_.data())); }
  SharedMemory memory_;
};

}  // namespace rashpa::publish
