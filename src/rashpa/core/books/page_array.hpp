// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa {

/// An array of `size` zeros in its own memory pages. Any thread may read and write single values. The system provides a
/// page at its first write: unused room costs addresses and no memory, and values are never moved.
template <typename T>
class PageArray {
  static_assert(std::is_trivially_copyable_v<T> && std::atomic_ref<T>::is_always_lock_free);

 public:
  PageArray() = default;
  /// Reserves the addresses. Throws ResourceError when the process has too few addresses left.
  explicit PageArray(std::uint64_t size) : size_(size) {
    if (size == 0) return;
    void* at = MAP_FAILED;
    errno = ENOMEM;
    if (size <= std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      at =
          ::mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (at == MAP_FAILED) {
      throw ResourceError("no room for a table of " + std::to_string(size) + " images: " + errno_text(errno) +
                          "; ask for fewer, or let the machine promise more memory than it has (vm.overcommit_memory)");
    }
    values_ = static_cast<T*>(at);
  }
  ~PageArray() { give_back(); }
  PageArray(PageArray&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PageArray& operator=(PageArray&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    values_ = std::exchange(other.values_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  PageArray(const PageArray&) = delete;
  PageArray& operator=(const PageArray&) = delete;

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Returns the value with number `at` < size().
  [[nodiscard]] std::atomic_ref<T> operator[](std::uint64_t at) const noexcept {
    return std::atomic_ref<T>(values_[at]);
  }

 private:
  void give_back() noexcept {
    if (values_ != nullptr) ::munmap(values_, size_ * sizeof(T));
  }
  T* values_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace rashpa
