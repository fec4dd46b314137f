// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"

#include <fmt/core.h>

#include <limits>
#include <vector>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel::jungfrau::cuda {

using memory::cuda::check;

namespace {

constexpr std::uint32_t kLargestTile = 1U << 16U;  // kernels round the pixels up to their tiles without overflow

/// Returns the pixels that the tables have entries for: whole groups. Throws ConfigError when a device cannot count
/// them.
std::size_t padded_pixels(const Prepared& prepared) {
  if (prepared.pixels() > std::numeric_limits<std::uint32_t>::max() - kLargestTile) {
    throw ConfigError(fmt::format(
        "jungfrau: {} pixels are more than a CUDA device counts; use smaller images, or unit cpu", prepared.pixels()));
  }
  return (prepared.pixels() + kGroup - 1) / kGroup * kGroup;
}

std::size_t table_bytes(std::size_t padded) { return 6 * padded * sizeof(float); }

/// The tables in one piece: pedestals and factors of G0, then pairs of G1 and of G2.
std::vector<float> tables_of(const Prepared& prepared, std::size_t padded) {
  std::vector<float> tables(table_bytes(padded) / sizeof(float));
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

Calibration::Calibration(const Prepared& prepared)
    : output_(prepared.output()), memory_(table_bytes(padded_pixels(prepared))) {
  const std::size_t padded = padded_pixels(prepared);
  const std::vector<float> tables = tables_of(prepared, padded);
  check(cudaMemcpy(memory_.as<float>(), tables.data(), table_bytes(padded), cudaMemcpyHostToDevice),
        "copy the calibration to the device");
  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "which device is current");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "multiprocessors of the device");
  const auto* first = memory_.as<const float>();
  tables_ = {first, first + padded, reinterpret_cast<const float2*>(first + 2 * padded),
             static_cast<std::uint32_t>(prepared.pixels()), static_cast<std::uint32_t>(processors)};
}

}  // namespace rashpa::kernel::jungfrau::cuda
