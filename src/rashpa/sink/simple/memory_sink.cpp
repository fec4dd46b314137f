// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/simple/memory_sink.hpp"

#include <algorithm>
#include <cstring>

#include "rashpa/core/error.hpp"

namespace rashpa::sink {

MemorySink::MemorySink(std::uint32_t capacity, std::uint32_t width, std::uint32_t height, PixelType pixel)
    : capacity_(capacity),
      width_(width),
      height_(height),
      pixel_(pixel),
      image_bytes_(static_cast<std::size_t>(width) * height * pixel_bytes(pixel)) {
  if (capacity == 0 || image_bytes_ == 0) {
    throw ConfigError("memory sink: capacity, width or height is 0; give 1 or more");
  }
  // One place more than is held: an image that turns out to be worth nothing has not taken that of another.
  places_ = std::size_t{capacity} + 1;
  pixels_ = memory::Buffer(places_ * image_bytes_, memory::MemoryKind::pageable);
  frame_numbers_.resize(places_);
}

bool MemorySink::keep(const StackImage& image) {
  const std::size_t place = written_ % places_;
  std::byte* target = pixels_.data() + place * image_bytes_;
  const std::byte* dense = image.dense();
  if (image.sparse.index != nullptr) {
    const std::uint64_t size = static_cast<std::uint64_t>(width_) * height_;
    const std::size_t bytes = pixel_bytes(pixel_);
    std::memset(target, 0, image_bytes_);
    for (std::uint32_t i = 0; i < image.sparse.count; ++i) {
      if (image.sparse.index[i] >= size) return false;
      std::memcpy(target + image.sparse.index[i] * bytes, static_cast<const std::byte*>(image.sparse.value) + i * bytes,
                  bytes);
    }
  } else if (dense != nullptr) {
    std::memcpy(target, dense, image_bytes_);
  } else {
    return false;
  }
  frame_numbers_[place] = image.frame_number;
  return true;
}

Put MemorySink::put(const Stack& stack, std::span<ErrorReason> results) {
  const std::lock_guard lock(mutex_);
  const auto images = stack.view();
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].decision != Decision::accepted) continue;
    const bool kept = keep(images[i]);
    if (!stack.intact(images[i], pixels_.data() + written_ % places_ * image_bytes_)) {
      results[i] = ErrorReason::overwritten;
    } else if (kept) {
      written_ += 1;
    } else {
      results[i] = ErrorReason::storage;
      if (error_.empty()) {
        error_ = "memory sink: frame " + std::to_string(images[i].frame_number) +
                 " has no pixels of the sink's type; give the sink the output type of the pipeline";
      }
    }
  }
  return Put::done;
}

SinkStats MemorySink::stats() const noexcept {
  const std::lock_guard lock(mutex_);
  return {
      .images_written = written_, .bytes_written = written_ * image_bytes_, .bytes_stored = written_ * image_bytes_};
}

std::string MemorySink::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

MemorySnapshot MemorySink::snapshot() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t count = std::min<std::uint64_t>(written_, capacity_);
  MemorySnapshot out;
  out.frame_numbers.reserve(count);
  out.pixels.resize(count * image_bytes_);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t place = (written_ - count + i) % places_;
    out.frame_numbers.push_back(frame_numbers_[place]);
    std::memcpy(out.pixels.data() + i * image_bytes_, pixels_.data() + place * image_bytes_, image_bytes_);
  }
  return out;
}

}  // namespace rashpa::sink
