// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/opencl/places.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit::opencl {

/// The slots of a ring of images that a device works on where they are, and the memory that images leave in: each is
/// the host's or the device's, and goes from one to the other in a queue. Knows nothing of kernels. One thread;
/// functions return the first error, a cl_int, and do not wait. Takes all memory in its constructor.
class SlotsInPlace {
 public:
  /// Makes no slots: images are copied.
  SlotsInPlace() = default;
  /// All slots are the host's when it returns. `queue` outlives it. Throws ResourceError.
  SlotsInPlace(const memory::opencl::Device& device, const Layout& layout, const Places& places,
               cl_command_queue queue);
  ~SlotsInPlace();
  SlotsInPlace(const SlotsInPlace&) = delete;
  SlotsInPlace& operator=(const SlotsInPlace&) = delete;

  /// Memory that the host has written becomes the device's, behind all that is in the queue.
  cl_int to_device(std::uint32_t slot, cl_command_queue queue) noexcept;
  /// The images that came in are the host's again.
  cl_int to_host(std::uint32_t slot, cl_command_queue queue) noexcept;
  /// Gives the images that leave to the host, for reading.
  cl_int made_to_host(std::uint32_t slot, cl_command_queue queue) noexcept;

  [[nodiscard]] cl_mem raw(std::uint32_t slot) const noexcept { return slots_[slot].raw.get(); }
  [[nodiscard]] cl_mem made(std::uint32_t slot) const noexcept { return slots_[slot].made.get(); }
  /// The images that leave. Call it behind made_to_host().
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
