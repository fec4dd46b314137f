// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The conversion on CUDA devices, with the results of the reference bit for bit (README.md). All work is asynchronous
/// in the given stream; nothing allocates or synchronises after the constructor of Calibration.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::jungfrau::cuda {

/// The calibration for kernels: device memory, passed by value. Each thread keeps the G0 entries of its pixels in
/// registers over a stack, and reads G1 and G2 where a pixel has switched gain.
struct Tables {
  const float* pedestal = nullptr;  ///< of G0, [pixels rounded up to kGroup]
  const float* factor = nullptr;    ///< of G0
  const float2* other = nullptr;    ///< of G1 and G2: [2][pixels rounded up to kGroup] of (pedestal, factor)
  std::uint32_t pixels = 0;
  std::uint32_t processors = 0;  ///< multiprocessors of the device
};

/// The owner of the tables in the memory of the current device.
class Calibration {
 public:
  /// Uploads the tables. Throws ConfigError as Prepared does, ResourceError when the device has no memory for them.
  explicit Calibration(const Config& config) : Calibration(Prepared(config)) {}
  explicit Calibration(const Prepared& prepared);

  [[nodiscard]] const Tables& tables() const noexcept { return tables_; }
  [[nodiscard]] Output output() const noexcept { return output_; }
  /// Returns the pedestals of G0, for a step that changes them between stacks.
  [[nodiscard]] float* pedestals() const noexcept { return memory_.as<float>(); }

 private:
  Output output_;
  memory::cuda::DeviceMemory memory_;
  Tables tables_;
};

/// Images at regular distances in device memory. Image i is converted when `work` is null or work[i] is not 0.
struct Batch {
  const std::uint16_t* raw = nullptr;  ///< image i at raw + i · raw_stride, aligned to 16 bytes
  std::size_t raw_stride = 0;          ///< pixels, a multiple of 8
  void* out = nullptr;                 ///< int16 or float32, image i at element i · out_stride, aligned to 16 bytes
  std::size_t out_stride = 0;          ///< pixels, a multiple of 8
  std::uint64_t* marks = nullptr;      ///< with Taps::mark: as Images::marks; image i begins at word i · marks_stride
  std::size_t marks_stride = 0;        ///< words of 64 pixels
  Counts* counts = nullptr;            ///< [count]; the kernel adds to these
  const std::uint8_t* work = nullptr;  ///< [count] in device memory; all blocks read them
  std::uint32_t count = 0;
};

/// Enqueues conversion and taps in one pass. Returns the result of the launch.
cudaError_t convert(const Tables& tables, Output output, const Batch& batch, const Taps& taps,
                    cudaStream_t stream) noexcept;

}  // namespace rashpa::kernel::jungfrau::cuda
