// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <utility>

namespace rashpa {

/// The owner of an open file descriptor, closed by the destructor. A negative number means no file, as after a failed
/// open. One thread.
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
  /// Returns the descriptor and gives its ownership to the caller.
  [[nodiscard]] int take() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace rashpa
