// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "rashpa/memory/device_images.hpp"

namespace rashpa::link::pcie {

/// The writers of images: GPUs of this machine (link pcie), an RNIC (link verbs), or the device itself, which gathers
/// packets from host memory (links roce and sls).
enum class Writers : std::uint8_t { gpus, rnic, itself };

/// Makes a receiver's image memory on a CUDA device, cleared. For GPUs its block has the handle by which another
/// process of this machine can write there, for an RNIC the memory's dma-buf, where the device exports one. It is
/// memory::Gathering, too. Set-up thread. Throws ConfigError when this program was built without CUDA, there is no such
/// device, or an RNIC cannot write there; ResourceError when the device has no room.
std::unique_ptr<memory::DeviceImages> make_cuda_images(int device, std::uint64_t bytes,
                                                       Writers writers = Writers::gpus);

}  // namespace rashpa::link::pcie
