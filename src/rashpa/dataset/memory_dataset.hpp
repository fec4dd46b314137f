// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/dataset/dataset.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::dataset {

/// A dataset with all frames in one block of memory, which its maker fills before it is played. Several threads may
/// fill different frames.
class MemoryDataset : public Dataset {
 public:
  /// Reserves the memory. Throws ConfigError when a size is 0 or exceeds the limits of datasets, ResourceError when the
  /// machine has too little memory.
  MemoryDataset(ModuleShape shape, std::uint32_t modules, std::uint64_t frames);

  [[nodiscard]] ModuleShape shape() const noexcept final { return shape_; }
  [[nodiscard]] std::uint32_t modules() const noexcept final { return modules_; }
  [[nodiscard]] std::uint64_t frames() const noexcept final { return flags_.size(); }
  [[nodiscard]] const std::byte* frame(std::uint32_t module, std::uint64_t frame) const noexcept final {
    return pixels_.data() + offset(module, frame);
  }
  [[nodiscard]] std::span<const std::byte> memory() const noexcept final { return pixels_.bytes(); }
  [[nodiscard]] std::uint32_t flags(std::uint64_t frame) const noexcept final { return flags_[frame]; }

  [[nodiscard]] std::span<std::byte> writable(std::uint32_t module, std::uint64_t frame) noexcept {
    return {pixels_.data() + offset(module, frame), shape_.frame_bytes()};
  }
  void set_flags(std::uint64_t frame, std::uint32_t flags) noexcept { flags_[frame] = flags; }

 private:
  [[nodiscard]] std::uint64_t offset(std::uint32_t module, std::uint64_t frame) const noexcept {
    return (module * flags_.size() + frame) * stride_;
  }
  ModuleShape shape_;
  std::uint32_t modules_;
  std::uint64_t stride_;  // bytes from frame to frame: a whole number of cache lines
  memory::Buffer pixels_;
  std::vector<std::uint32_t> flags_;
};

/// The largest width and height of a module, and the largest number of modules, that any dataset accepts.
inline constexpr std::uint32_t kLargestSide = 65536;
inline constexpr std::uint32_t kMostModules = 4096;

/// Throws ConfigError unless 1 ≤ width, height ≤ kLargestSide and 1 ≤ modules ≤ kMostModules.
void check_shape(ModuleShape shape, std::uint32_t modules);

}  // namespace rashpa::dataset
