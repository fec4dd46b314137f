// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "rashpa/memory/device_images.hpp"
#include "rashpa/receiver/config.hpp"

namespace rashpa::receiver {

/// Sets the memory of buffers by its word in run files: "pageable", "huge", or "device" for images in memory of the
/// units' device and all else in pageable memory. Throws ConfigError when `name` is none of them.
void set_memory(Config& config, std::string_view name);
std::string_view memory_name(const Config& config) noexcept;
/// Takes the memory of images that lie on a device; null when they lie in the host's. Throws ConfigError that names the
/// buffer and says what of it cannot work there, or as link::pcie::make_cuda_images().
std::unique_ptr<memory::DeviceImages> device_images(const Config& config, std::uint64_t bytes);

}  // namespace rashpa::receiver
