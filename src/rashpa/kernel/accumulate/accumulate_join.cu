// SPDX-License-Identifier: Apache-2.0
/// The end of a window that several devices have added up: parts that are one already become quantities.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <vector>

#include "rashpa/kernel/accumulate/accumulate_cuda.hpp"
#include "rashpa/kernel/accumulate/parts.hpp"
#include "rashpa/kernel/accumulate/quantities.cuh"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::accumulate::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 528;

struct To {
  std::byte* at[kMostQuantities]{};
};

/// Neighbouring threads have neighbouring pixels: host memory is written in whole lines.
__global__ void __launch_bounds__(kThreads)
    write_joined(const Parts parts, const Wanted wanted, std::int32_t masked, std::uint32_t pixels, const To to) {
  for (std::uint32_t p = blockIdx.x * kThreads + threadIdx.x; p < pixels; p += gridDim.x * kThreads) {
    write_quantities(parts, wanted, masked, p, to.at);
  }
}

class Writer final : public kernel::cuda::PartsWriter {
 public:
  Writer(const Config& config, std::size_t pixels, PixelFormat format)
      : parts_(parts_of(config, format)),
        wanted_(wanted_of(config)),
        masked_(lowest_of(format, looked_at(format)).masked),
        pixels_(static_cast<std::uint32_t>(pixels)) {
    for (const Part part : parts_) arrays_.push_back(part_array(part, format));
  }
  [[nodiscard]] const std::vector<PartArray>& arrays() const noexcept override { return arrays_; }
  int write(const AccumulatedArrays& parts, const AccumulatedArrays& to, cudaStream_t stream) const noexcept override {
    std::array<std::byte*, kParts> by_part{};
    for (std::size_t i = 0; i < parts_.size(); ++i) by_part[parts_[i]] = parts[i];
    const Parts joined{.counted = reinterpret_cast<std::uint32_t*>(by_part[kCounted]),
                       .sum = reinterpret_cast<std::int64_t*>(by_part[kSum]),
                       .squares = {reinterpret_cast<std::uint64_t*>(by_part[kSquares]),
                                   reinterpret_cast<std::uint64_t*>(by_part[kCrosses]),
                                   reinterpret_cast<std::uint64_t*>(by_part[kTops])},
                       .most = reinterpret_cast<std::int32_t*>(by_part[kMax]),
                       .real_sum = reinterpret_cast<double*>(by_part[kRealSum]),
                       .real_most = reinterpret_cast<float*>(by_part[kRealMax])};
    To destination;
    std::copy(to.begin(), to.end(), std::begin(destination.at));
    const unsigned blocks = std::min((pixels_ + kThreads - 1) / kThreads, kBlocks);
    write_joined<<<blocks, kThreads, 0, stream>>>(joined, wanted_, masked_, pixels_, destination);
    return cudaGetLastError();
  }

 private:
  std::vector<Part> parts_;
  std::vector<PartArray> arrays_;
  Wanted wanted_;
  std::int32_t masked_;
  std::uint32_t pixels_;
};

}  // namespace

std::unique_ptr<const kernel::cuda::PartsWriter> make_writer(const Config& config, std::size_t pixels,
                                                             PixelFormat format) {
  return std::make_unique<Writer>(config, pixels, format);
}

}  // namespace rashpa::kernel::accumulate::cuda
