// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/window_sums.hpp"

#include <span>

#include "rashpa/core/ability.hpp"

namespace rashpa::unit::cuda {

void WindowSums::add(std::size_t step, const Accumulation& facts, const Layout& layout, kernel::cuda::DevicePass& pass,
                     bool stays) {
  auto* const on_host = able<kernel::cuda::HostAdding>(pass);
  const auto* const on_device = able<kernel::cuda::DeviceAdding>(pass);
  if (stays) {
    const auto& memory = stays_.emplace_back(Windows::bytes_for(facts, layout.stack, layout.stacks));
    adders_.push_back({step, Windows(facts, layout.stack, layout.stacks, memory.as<std::byte>()), on_host, on_device});
    return;
  }
  adders_.push_back({step, Windows(facts, layout.stack, layout.stacks), on_host, on_device});
  if (on_device == nullptr) return;
  const std::span<std::byte> results = adders_.back().windows.memory();
  pinnings_.emplace_back(results.data(), results.size());
}

void WindowSums::order(const Stack& stack, Order& to) const noexcept {
  for (std::size_t a = 0; a < adders_.size(); ++a) {
    const Windows& windows = adders_[a].windows;
    to.ended[a] = windows.ends_with(stack.number) ? windows.arrays_of(windows.window_of(stack.number))
                                                  : kernel::AccumulatedArrays{};
  }
}

void WindowSums::add_image(Adder& adder, std::uint32_t place) noexcept {
  if (adder.on_host != nullptr) adder.on_host->add(place);
  adder.windows.add(1);
}

void WindowSums::close(Adder& adder, bool finished, AccumulatedView& window) noexcept {
  if (adder.on_host != nullptr) adder.on_host->write(adder.windows.arrays());
  const AccumulatedView closed = adder.windows.close();
  // Results that a failed device owes are nowhere.
  if (adder.on_device == nullptr || finished) window = closed;
}

cudaError_t WindowSums::close_open(Accumulated& all) noexcept {
  all = {};
  for (std::size_t a = 0; a < adders_.size(); ++a) {
    Adder& adder = adders_[a];
    if (!adder.windows.is_open()) continue;
    if (adder.on_device != nullptr) {
      auto code = static_cast<cudaError_t>(adder.on_device->conclude(adder.windows.arrays(), nullptr));
      if (code == cudaSuccess) code = cudaStreamSynchronize(nullptr);
      if (code != cudaSuccess) return code;
    } else if (adder.on_host != nullptr) {
      adder.on_host->write(adder.windows.arrays());
    }
    all[a] = adder.windows.close();
  }
  return cudaSuccess;
}

}  // namespace rashpa::unit::cuda
