// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "rashpa/memory/device_images.hpp"

namespace rashpa::link::pcie {

/// Makes a receiver's image memory on a CUDA device, cleared. Its block has the handle by which another process of this
/// machine can write there. Set-up thread. Throws ConfigError when this program was built without CUDA or there is no
/// such device, ResourceError when the device has no room.
std::unique_ptr<memory::DeviceImages> make_cuda_images(int device, std::uint64_t bytes);

}  // namespace rashpa::link::pcie
