// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "rashpa/memory/device_images.hpp"
#include "rashpa/receiver/buffers/memory_layout.hpp"
#include "rashpa/receiver/config.hpp"

namespace rashpa::receiver {

/// Sets the memory of buffers by its name in run files: "pageable", "huge", or "device", which puts images into memory
/// of the units' device and the rest into pageable memory. Throws ConfigError for any other name.
void set_memory(Config& config, std::string_view name);
std::string_view memory_name(const Config& config) noexcept;
/// Allocates the memory of images on a device; null when they lie in host memory. Throws ConfigError that names the
/// buffer and its setting that does not work there, or as link::pcie::make_cuda_images().
std::unique_ptr<memory::DeviceImages> device_images(const Config& config, std::uint64_t bytes);

/// Returns where the last words lie that sources of the link must write. Link pcie has words of its own.
LastWords last_words_of(const Config& config) noexcept;
/// Sets last words in memory of a device to that of no image. Throws ConfigError that names the buffer when a program
/// on that device would see them before the lines.
void clear_words(const Config& config, const MemoryLayout& layout, memory::DeviceImages& images);

}  // namespace rashpa::receiver
