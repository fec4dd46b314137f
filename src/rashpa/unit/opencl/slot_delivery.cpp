// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/slot_delivery.hpp"

namespace rashpa::unit::opencl {

using memory::opencl::api;
using memory::opencl::HostMemory;

SlotDelivery::SlotDelivery(const memory::opencl::Device& device, const Output& output, const Places& places,
                           std::uint32_t stacks, bool lists)
    : places_(places),
      pixel_bytes_(pixel_bytes(output.pixel)),
      image_bytes_(std::size_t{output.width} * output.height * pixel_bytes_),
      list_capacity_(lists ? output.list_capacity : 0),
      slots_(stacks) {
  const std::size_t made_bytes = places.in_place ? 0 : places.stack * places.leaving_stride();
  const std::size_t entries = places.stack * list_capacity_;
  for (Slot& slot : slots_) {
    slot.pixels = HostMemory(device, made_bytes, "accepted images");
    slot.index = HostMemory(device, entries * sizeof(std::uint32_t), "lists");
    slot.value = HostMemory(device, entries * pixel_bytes_, "values of lists");
  }
}

cl_int SlotDelivery::deliver(const Source& from, std::uint32_t slot, std::span<const std::uint8_t> kept,
                             cl_command_queue queue) noexcept {
  const Slot& to = slots_[slot];
  const auto read = [queue](cl_mem memory, std::size_t offset, std::size_t bytes, void* into) {
    return api().read_buffer(queue, memory, CL_FALSE, offset, bytes, into, 0, nullptr, nullptr);
  };
  const std::size_t stride = places_.leaving_stride();
  cl_int code = CL_SUCCESS;
  for (std::size_t i = 0; i < kept.size() && code == CL_SUCCESS; ++i) {
    if (kept[i] == 0) continue;
    if (from.made != nullptr) {
      code = read(from.made, i * stride, image_bytes_, to.pixels.as<std::byte>() + i * stride);
    }
    const std::size_t entries = list_capacity_ != 0 ? from.books[i].entries : 0;
    if (entries == 0 || code != CL_SUCCESS) continue;
    const std::size_t first = i * from.lists.stride;
    code = read(from.lists.index, first * sizeof(std::uint32_t), entries * sizeof(std::uint32_t),
                to.index.as<std::uint32_t>() + i * list_capacity_);
    if (code == CL_SUCCESS) {
      code = read(from.lists.value, first * pixel_bytes_, entries * pixel_bytes_,
                  to.value.as<std::byte>() + i * list_capacity_ * pixel_bytes_);
    }
  }
  return code;
}

SparseView SlotDelivery::list(std::uint32_t slot, std::uint32_t image, std::uint32_t entries) const noexcept {
  const std::size_t at = image * list_capacity_;
  return {slots_[slot].index.as<std::uint32_t>() + at, slots_[slot].value.as<std::byte>() + at * pixel_bytes_, entries};
}

}  // namespace rashpa::unit::opencl
