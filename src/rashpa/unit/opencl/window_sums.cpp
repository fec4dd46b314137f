// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/window_sums.hpp"

#include <algorithm>

#include "rashpa/core/ability.hpp"

namespace rashpa::unit::opencl {

void WindowSums::add(std::size_t step, const Accumulation& facts, const Layout& layout,
                     kernel::opencl::DevicePass& pass) {
  adders_.push_back({.step = step,
                     .stack = layout.stack,
                     .windows = Windows(facts, layout.stack, layout.stacks),
                     .on_host = able<kernel::opencl::HostAdding>(pass),
                     .on_device = able<kernel::opencl::DeviceAdding>(pass)});
}

bool WindowSums::ends_with(std::uint64_t number) const noexcept {
  return std::any_of(adders_.begin(), adders_.end(),
                     [number](const Adder& one) { return one.windows.ends_with(number); });
}

cl_int WindowSums::conclude(std::size_t number, std::uint32_t bench, std::uint64_t stack,
                            cl_command_queue queue) noexcept {
  const Adder& adder = adders_[number];
  if (adder.on_device == nullptr || !adder.windows.ends_with(stack)) return CL_SUCCESS;
  return adder.on_device->conclude(bench, queue);
}

cl_int WindowSums::conclude_all(std::uint32_t bench, cl_command_queue queue) noexcept {
  for (const Adder& adder : adders_) {
    if (adder.on_device == nullptr) continue;
    if (const cl_int code = adder.on_device->conclude(bench, queue); code != CL_SUCCESS) return code;
  }
  return CL_SUCCESS;
}

void WindowSums::add_image(Adder& adder, std::uint32_t bench, const Stack& stack, std::uint32_t image) noexcept {
  if (adder.on_host != nullptr) {
    adder.on_host->add({bench, image, stack.slot * adder.stack + image, &stack.images[image], false});
  }
  adder.windows.add(1);
}

AccumulatedView WindowSums::close(Adder& adder, std::uint32_t bench, bool started) noexcept {
  if (started && adder.on_device != nullptr) adder.on_device->write(bench, adder.windows.arrays());
  if (started && adder.on_host != nullptr) adder.on_host->write(adder.windows.arrays());
  return adder.windows.close();
}

cl_int WindowSums::close_open(Accumulated& all, cl_command_queue queue) noexcept {
  for (std::size_t a = 0; a < adders_.size(); ++a) {
    Adder& adder = adders_[a];
    if (!adder.windows.is_open()) continue;
    cl_int code = adder.on_device == nullptr ? CL_SUCCESS : adder.on_device->conclude(0, queue);
    if (code == CL_SUCCESS) code = memory::opencl::api().finish(queue);
    if (code != CL_SUCCESS) return code;
    all[a] = close(adder, 0, true);
  }
  return CL_SUCCESS;
}

}  // namespace rashpa::unit::opencl
