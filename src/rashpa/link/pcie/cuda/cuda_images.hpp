// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "rashpa/memory/device_images.hpp"

namespace rashpa::link::pcie {

/// Images of a receiver in memory of a CUDA device: cleared; its block has the handle with which another process on
/// this machine can write there. Set-up thread. Throws ConfigError when this program was built without CUDA or there is
/// no such device, ResourceError when the device has no room.
std::unique_ptr<memory::DeviceImages> make_cuda_images(int device, std::uint64_t bytes);

}  // namespace rashpa::link::pcie
