// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory that a process shares with its publishing child. It has numbers and bytes but no pointers, and the parent
/// trusts only a child's counts.
#include <cstddef>
#include <new>
#include <string_view>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/memory/file_mapping.hpp"

namespace rashpa::publish {

/// A file of `bytes` zeros without a name and with a fixed size, passed to a child by its descriptor.
class SharedMemory {
 public:
  /// Creates the memory in the parent. Throws ResourceError.
  SharedMemory(std::size_t bytes, std::string_view what);
  /// Opens the memory in a child. Throws ResourceError, also when it is smaller.
  SharedMemory(int file, std::size_t bytes);
  [[nodiscard]] int file() const noexcept { return file_.get(); }
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(mapping_.data()); }

 private:
  void map(std::size_t bytes, std::string_view what);
  FileDescriptor file_;
  memory::FileMapping mapping_;
};

/// Words of type T at the begin of a SharedMemory: atomics that start as zeros.
template <typename Words>
class SharedWords {
 public:
  explicit SharedWords(std::string_view what, std::size_t behind = 0) : memory_(sizeof(Words) + behind, what) {
    new (memory_.data()) Words();
  }
  /// Opens the words in a child.
  explicit SharedWords(int file, std::size_t behind = 0) : memory_(file, sizeof(Words) + behind) {}
  [[nodiscard]] int file() const noexcept { return memory_.file(); }
  Words* operator->() const noexcept { return words(); }
  Words& operator*() const noexcept { return *words(); }
  /// Returns the bytes behind the words.
  [[nodiscard]] std::byte* behind() const noexcept { return memory_.data() + sizeof(Words); }

 private:
  [[nodiscard]] Words* words() const noexcept { return std::launder(reinterpret_cast<Words*>(memory_.data())); }
  SharedMemory memory_;
};

}  // namespace rashpa::publish
