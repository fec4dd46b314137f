// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/slots_in_place.hpp"

#include <utility>

namespace rashpa::unit::opencl {

using memory::opencl::api;

SlotsInPlace::SlotsInPlace(const memory::opencl::Device& device, const Layout& layout, const Places& places,
                           cl_command_queue queue)
    : raw_bytes_(places.stack * places.image_stride),
      made_bytes_(places.stack * places.leaving_stride()),
      queue_(queue),
      slots_(layout.stacks) {
  for (std::uint32_t slot = 0; slot < layout.stacks; ++slot) {
    slots_[slot].raw = device.memory_at(layout.images + slot * raw_bytes_, raw_bytes_, "the images of a stack");
    slots_[slot].made = device.shared_memory(made_bytes_, "images of a stack");
    memory::opencl::check(to_host(slot, queue), "the images of a stack");
  }
  memory::opencl::check(api().finish(queue), "the images of a stack");
}

SlotsInPlace::~SlotsInPlace() {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) to_device(slot, queue_);
  if (!slots_.empty()) api().flush(queue_);
}

cl_int SlotsInPlace::to_device(std::uint32_t slot, cl_command_queue queue) noexcept {
  Slot& of = slots_[slot];
  cl_int code = CL_SUCCESS;
  if (void* const mapped = std::exchange(of.raw_mapped, nullptr)) {
    code = api().unmap(queue, of.raw.get(), mapped, 0, nullptr, nullptr);
  }
  if (void* const mapped = std::exchange(of.made_mapped, nullptr); mapped != nullptr && code == CL_SUCCESS) {
    code = api().unmap(queue, of.made.get(), mapped, 0, nullptr, nullptr);
  }
  return code;
}

cl_int SlotsInPlace::to_host(std::uint32_t slot, cl_command_queue queue) noexcept {
  cl_int code = CL_SUCCESS;
  slots_[slot].raw_mapped = api().map_buffer(queue, slots_[slot].raw.get(), CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                             raw_bytes_, 0, nullptr, nullptr, &code);
  return code;
}

cl_int SlotsInPlace::made_to_host(std::uint32_t slot, cl_command_queue queue) noexcept {
  cl_int code = CL_SUCCESS;
  slots_[slot].made_mapped = static_cast<std::byte*>(api().map_buffer(
      queue, slots_[slot].made.get(), CL_FALSE, CL_MAP_READ, 0, made_bytes_, 0, nullptr, nullptr, &code));
  return code;
}

}  // namespace rashpa::unit::opencl
