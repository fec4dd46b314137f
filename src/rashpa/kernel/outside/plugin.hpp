// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels in shared objects: rashpa_plugin.h is the contract with them. Loading one runs its code, so that a node that
/// loads it must know where it comes from; nothing here asks.
#include <cstdint>
#include <filesystem>
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::outside {

/// Decides whether a plugin is held to leaving its pixels as they are.
enum class PixelCheck : std::uint8_t {
  on,   ///< it gets a copy of each image, and a change there makes the image errored
  off,  ///< it is given the image that is stored
};

/// Loads the object and checks what it declares. Throws ConfigError that names the file when it is no plugin, of
/// another version, or declares what makes no sense. The object stays loaded for as long as a step of it lives.
std::unique_ptr<Kernel> load_plugin(const std::filesystem::path& file, PixelCheck check = PixelCheck::on);

}  // namespace rashpa::kernel::outside
