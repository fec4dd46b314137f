// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/unit.hpp"
#include "rashpa/unit/windows.hpp"

namespace rashpa::unit::cuda {

/// The accumulation windows of steps on a CUDA device or on the host beside it. It knows passes only by these two
/// abilities. One thread; another may call order().
class WindowSums {
 public:
  /// Registers that step `step` makes the next accumulation; `pass` outlives it. `stays`: results stay in memory of the
  /// current device, for the joiner of several devices. Throws ResourceError.
  void add(std::size_t step, const Accumulation& facts, const Layout& layout, kernel::cuda::DevicePass& pass,
           bool stays);

  /// Writes the destinations of windows that end with the stack, before it is submitted.
  void order(const Stack& stack, Order& to) const noexcept;
  /// Accounts for a returned stack, in order, and fills Stack::accumulated. `kept(image, step)` returns true when all
  /// steps up to that one have kept the image. `finished`: the device has done its work. `first` is the place of its
  /// first image.
  template <typename Kept>
  void account(Stack& stack, bool finished, std::uint32_t first, const Kept& kept) noexcept {
    stack.accumulated = {};
    for (std::size_t a = 0; a < adders_.size(); ++a) {
      adders_[a].windows.open(stack);
      for (std::uint32_t i = 0; i < stack.count && finished; ++i) {
        if (stack.images[i].measured && kept(i, adders_[a].step)) add_image(adders_[a], first + i);
      }
      if (adders_[a].windows.ends_with(stack.number)) close(adders_[a], finished, stack.accumulated[a]);
    }
  }
  /// Writes the windows that are open after all stacks have returned into `all`. Waits for the device. Returns the
  /// first error.
  cudaError_t close_open(Accumulated& all) noexcept;

 private:
  /// A step that accumulates, with its pass as one of both kinds.
  struct Adder {
    std::size_t step;
    Windows windows;
    kernel::cuda::HostAdding* on_host;
    const kernel::cuda::DeviceAdding* on_device;
  };
  static void add_image(Adder& adder, std::uint32_t place) noexcept;
  static void close(Adder& adder, bool finished, AccumulatedView& window) noexcept;

  std::vector<Adder> adders_;                      // by accumulation
  std::vector<memory::cuda::DeviceMemory> stays_;  // of those that stay there
  std::deque<memory::cuda::Pinning> pinnings_;     // of others that the device writes
};

}  // namespace rashpa::unit::cuda
