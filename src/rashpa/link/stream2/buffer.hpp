// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace rashpa::link::stream2 {

/// The bytes of one message, of one frame or several, in memory that later messages reuse. One thread at a time.
class Buffer {
 public:
  static constexpr std::size_t kMostFrames = 16;

  void clear() noexcept { size_ = frames_ = 0; }
  /// Returns room for `bytes` more behind the present bytes; may throw std::bad_alloc.
  std::span<std::byte> room(std::size_t bytes) {
    if (size_ + bytes > capacity_) grow(size_ + bytes);
    return {data_.get() + size_, bytes};
  }
  /// Makes `bytes` bytes of the room a frame.
  void add_frame(std::size_t bytes) noexcept {
    size_ += bytes;
    ends_[frames_++] = size_;
  }
  [[nodiscard]] bool full() const noexcept { return frames_ == kMostFrames; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t frames() const noexcept { return frames_; }
  [[nodiscard]] std::span<const std::byte> frame(std::size_t number) const noexcept {
    const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
    return {data_.get() + begin, ends_[number] - begin};
  }

 private:
  void grow(std::size_t bytes) {
    const std::size_t capacity = std::max(bytes, capacity_ + capacity_ / 2);
    auto data = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ != 0) std::memcpy(data.get(), data_.get(), size_);
    data_ = std::move(data);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> data_;
  std::size_t capacity_ = 0, size_ = 0, frames_ = 0;
  std::array<std::size_t, kMostFrames> ends_{};
};

}  // namespace rashpa::link::stream2
