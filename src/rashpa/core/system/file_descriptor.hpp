// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <utility>

namespace rashpa {

/// An open file, by its number; it closes itself. A negative number is none: a file that could not be opened. One
/// thread.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.take()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const noexcept { return number_; }
  /// The caller owns it from now on.
  [[nodiscard]] int take() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace rashpa
