// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>
#include <vector>

#include "rashpa/memory/buffer.hpp"
#include "rashpa/sink/sink.hpp"

namespace rashpa::sink {

/// The images in a MemorySink, oldest first.
struct MemorySnapshot {
  std::vector<std::uint64_t> frame_numbers;
  std::vector<std::byte> pixels;  ///< [image][row][column] of the sink's pixel type
};

/// Keeps the latest `capacity` accepted images in memory taken by the constructor; all accepted images count as
/// written. CSR images are expanded (pixels not listed are 0).
class MemorySink final : public Sink {
 public:
  /// Takes the memory. Throws ConfigError when images are empty or capacity is 0, ResourceError when there is too
  /// little memory.
  MemorySink(std::uint32_t capacity, std::uint32_t width, std::uint32_t height, PixelType pixel);
  Put put(const Stack& stack, std::span<ErrorReason> results) override;
  void close(const Books&) override {}
  [[nodiscard]] SinkStats stats() const noexcept override;
  [[nodiscard]] std::string error() const override;

  /// Returns copies of the images. Any thread; put() waits for it.
  [[nodiscard]] MemorySnapshot snapshot() const;
  [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
  [[nodiscard]] std::uint32_t height() const noexcept { return height_; }
  [[nodiscard]] PixelType pixel() const noexcept { return pixel_; }

 private:
  bool keep(const StackImage& image);
  std::uint32_t capacity_;
  std::size_t places_ = 0;
  std::uint32_t width_;
  std::uint32_t height_;
  PixelType pixel_;
  std::size_t image_bytes_;
  mutable std::mutex mutex_;
  memory::Buffer pixels_;
  std::vector<std::uint64_t> frame_numbers_;
  std::uint64_t written_ = 0;
  std::string error_;
};

}  // namespace rashpa::sink
