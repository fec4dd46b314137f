// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"

#include <fmt/core.h>

#include <limits>
#include <vector>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel::jungfrau::cuda {

namespace {

constexpr std::uint32_t kLargestTile = 1U << 16U;  // kernels round the pixels up to their tiles without overflow

/// The tables in one piece: pedestals and factors of G0, then pairs of G1 and of G2.
std::vector<float> tables_of(const Prepared& prepared, std::size_t padded) {
  std::vector<float> tables(6 * padded);
  for (std::size_t i = 0; i < padded; ++i) {
    for (unsigned gain = 0; gain < 3; ++gain) {
      // Prepared keeps even and odd pixels of a group apart.
      const float* entry = prepared.table(gain, i / kGroup) + i % 2 * (kGroup / 2) + i % kGroup / 2;
      const std::size_t pedestal = gain == 0 ? i : 2 * (gain * padded + i);
      tables[pedestal] = entry[0];
      tables[gain == 0 ? padded + i : pedestal + 1] = entry[kGroup];
    }
  }
  return tables;
}

}  // namespace

Calibration::Calibration(const Config& config) : output_(config.output) {
  const Prepared prepared(config);
  if (prepared.pixels() > std::numeric_limits<std::uint32_t>::max() - kLargestTile) {
    throw ConfigError(fmt::format("jungfrau: {} pixels are more than a CUDA device counts", prepared.pixels()));
  }
  const std::size_t padded = (prepared.pixels() + kGroup - 1) / kGroup * kGroup;
  const std::vector<float> tables = tables_of(prepared, padded);
  const std::size_t bytes = tables.size() * sizeof(float);
  cudaError_t status = cudaMalloc(&memory_, bytes);
  int device = 0;
  int processors = 0;
  if (status == cudaSuccess) status = cudaGetDevice(&device);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (status == cudaSuccess) status = cudaMemcpy(memory_, tables.data(), bytes, cudaMemcpyHostToDevice);
  if (status != cudaSuccess) {
    cudaFree(memory_);
    cudaGetLastError();  // told here; no later launch shall be blamed for it
    throw ResourceError(fmt::format("jungfrau: no room for the calibration ({} MB) on the CUDA device: {}",
                                    bytes / 1'000'000, cudaGetErrorString(status)));
  }
  const auto* first = static_cast<const float*>(memory_);
  tables_ = {first, first + padded, reinterpret_cast<const float2*>(first + 2 * padded),
             static_cast<std::uint32_t>(prepared.pixels()), static_cast<std::uint32_t>(processors)};
}

Calibration::~Calibration() { cudaFree(memory_); }

}  // namespace rashpa::kernel::jungfrau::cuda
