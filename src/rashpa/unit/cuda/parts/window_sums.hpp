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

/// The sums over images that steps make on a CUDA device or on the host beside it, window by window. Knows passes by
/// their two abilities alone. One thread; order() may be another's.
class WindowSums {
 public:
  /// Step `step` makes the next accumulation; `pass` outlives it. `stays`: its results stay in memory of the current
  /// device, for the joiner of those of several. Throws ResourceError.
  void add(std::size_t step, const Accumulation& facts, const Layout& layout, kernel::cuda::DevicePass& pass,
           bool stays);

  /// Sets the places for the sums of windows that end with the stack, before it is submitted.
  void order(const Stack& stack, Order& to) const noexcept;
  /// Adds a stack that has come back to the windows, stacks in order, and fills Stack::accumulated. `kept(image,
  /// step)`: all steps up to that one have kept the image. `finished`: the device has done its work. `first`: place of
  /// its first image.
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
  /// The windows that are open when all stacks have come back, into `all`. Waits for the device. Returns the first
  /// error.
  cudaError_t close_open(Accumulated& all) noexcept;

 private:
  /// A step that adds up, with its pass as either of both.
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
