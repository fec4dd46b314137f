// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <utility>

namespace rashpa::feedback {

/// Bytes of a file in the memory of this process; they are given back with it.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(void* data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace rashpa::feedback
