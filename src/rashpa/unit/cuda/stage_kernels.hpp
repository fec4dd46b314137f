#pragma once
/// The two steps between kernels and host: what the counts mean, and what leaves the device.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/unit/cuda/control.hpp"

namespace rashpa::unit::cuda {

/// Turns counts into outcomes, image by image, and clears the counts for the next stack. Device memory throughout.
struct Decide {
  const Order* order = nullptr;
  std::uint32_t stack = 0;  ///< entries of the arrays
  kernel::jungfrau::Counts* counts = nullptr;
  bool veto = false;
  kernel::bragg_count::Config config{};
  Outcome* outcomes = nullptr;
  std::uint8_t* accepted = nullptr;
};
cudaError_t decide(const Decide& step, cudaStream_t stream) noexcept;

/// Stores accepted images and all outcomes in host memory, and the order's ticket behind them.
struct Deliver {
  const Order* order = nullptr;
  std::uint32_t stack = 0;
  const Outcome* outcomes = nullptr;
  const std::uint8_t* accepted = nullptr;
  const std::uint32_t* entries = nullptr;  ///< of lists; null when the pipeline makes none
  const std::byte* images = nullptr;       ///< null: no images leave
  std::byte* host_images = nullptr;
  std::size_t image_bytes = 0;  ///< from one to the next on both sides, a multiple of 16
  Outcome* host_outcomes = nullptr;
  std::uint32_t* host_done = nullptr;
  std::uint32_t* blocks_done = nullptr;  ///< one word of device memory, 0 between launches
};
cudaError_t deliver(const Deliver& step, cudaStream_t stream) noexcept;

}  // namespace rashpa::unit::cuda
