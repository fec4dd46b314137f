// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/opencl/places.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit::opencl {

/// The slots of a ring of images that a device uses in place, and the memory of output images. Each belongs to the host
/// or the device, and commands in a queue pass it between them. It knows no kernels. One thread; functions return the
/// first error, a cl_int, and do not wait. The constructor takes all memory.
class SlotsInPlace {
 public:
  /// Makes no slots, for images that are copied.
  SlotsInPlace() = default;
  /// Makes the slots, which then belong to the host. `queue` outlives them. Throws ResourceError.
  SlotsInPlace(const memory::opencl::Device& device, const Layout& layout, const Places& places,
               cl_command_queue queue);
  ~SlotsInPlace();
  SlotsInPlace(const SlotsInPlace&) = delete;
  SlotsInPlace& operator=(const SlotsInPlace&) = delete;

  /// Passes memory that the host has written to the device, after all work in the queue.
  cl_int to_device(std::uint32_t slot, cl_command_queue queue) noexcept;
  /// Passes the input images back to the host.
  cl_int to_host(std::uint32_t slot, cl_command_queue queue) noexcept;
  /// Passes the output images to the host, for reading.
  cl_int made_to_host(std::uint32_t slot, cl_command_queue queue) noexcept;

  [[nodiscard]] cl_mem raw(std::uint32_t slot) const noexcept { return slots_[slot].raw.get(); }
  [[nodiscard]] cl_mem made(std::uint32_t slot) const noexcept { return slots_[slot].made.get(); }
  /// Returns the output images. Call it after made_to_host().
  [[nodiscard]] const std::byte* made_images(std::uint32_t slot) const noexcept { return slots_[slot].made_mapped; }

 private:
  struct Slot {
    memory::opencl::Memory raw;
    void* raw_mapped = nullptr;  // the host's, while it is not null
    memory::opencl::Memory made;
    std::byte* made_mapped = nullptr;
  };
  std::size_t raw_bytes_ = 0;
  std::size_t made_bytes_ = 0;
  cl_command_queue queue_ = nullptr;
  std::vector<Slot> slots_;
};

}  // namespace rashpa::unit::opencl
