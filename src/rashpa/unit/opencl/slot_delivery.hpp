// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/opencl/places.hpp"

namespace rashpa::unit::opencl {

/// Copies pixels and lists of accepted images from the device into host memory, which has room for each slot of the
/// ring. It makes no decisions and never waits. One thread; functions return the first error, a cl_int. The constructor
/// takes all memory.
class SlotDelivery {
 public:
  /// Takes the memory. `lists`: the device makes lists. `places` outlives the object. Throws ResourceError.
  SlotDelivery(const memory::opencl::Device& device, const Output& output, const Places& places, std::uint32_t stacks,
               bool lists);

  /// The device memory with a stack's results.
  struct Source {
    cl_mem made = nullptr;  ///< null: no pixels are copied
    kernel::opencl::DeviceLists lists{};
    std::span<const kernel::opencl::ImageBooks> books{};
  };
  /// Enqueues copies of pixels and list of image i where kept[i] is not 0.
  cl_int deliver(const Source& from, std::uint32_t slot, std::span<const std::uint8_t> kept,
                 cl_command_queue queue) noexcept;

  /// Returns the pixels of an image, once they are delivered.
  [[nodiscard]] const std::byte* pixels(std::uint32_t slot, std::uint32_t image) const noexcept {
    return slots_[slot].pixels.as<std::byte>() + image * places_.leaving_stride();
  }
  [[nodiscard]] SparseView list(std::uint32_t slot, std::uint32_t image, std::uint32_t entries) const noexcept;

 private:
  struct Slot {
    memory::opencl::HostMemory pixels, index, value;
  };
  const Places& places_;
  std::size_t pixel_bytes_;  // of one that leaves
  std::size_t image_bytes_;
  std::size_t list_capacity_;  // entries; 0: there are no lists
  std::vector<Slot> slots_;
};

}  // namespace rashpa::unit::opencl
