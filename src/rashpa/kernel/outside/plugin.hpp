// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels in shared objects; rashpa_plugin.h is their contract. Loading one runs its code, so the node must know its
/// origin before it loads it; nothing here checks that.
#include <cstdint>
#include <filesystem>
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::outside {

/// The check that a plugin does not change its input pixels.
enum class PixelCheck : std::uint8_t {
  on,   ///< the plugin gets a copy of each image; a change of the copy makes the image errored
  off,  ///< the plugin gets the image that is stored, unchecked
};

/// Loads the object and checks its declaration. Throws ConfigError that names the file when it is no plugin, has
/// another version, or declares an invalid kernel. The object stays loaded as long as a step of it exists.
std::unique_ptr<Kernel> load_plugin(const std::filesystem::path& file, PixelCheck check = PixelCheck::on);

}  // namespace rashpa::kernel::outside
