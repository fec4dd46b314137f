// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The background of images by ring on CUDA devices, and the marks of pixels above it: the first half of a peak
/// finder's work. For integer pixels, limits and marks equal those of unit cpu bit for bit.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/rings/ring_limits.hpp"
#include "rashpa/kernel/rings/rings.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::cuda {

template <typename T>
memory::cuda::DeviceMemory copy_to_device(const std::vector<T>& values, const char* what) {
  memory::cuda::DeviceMemory memory(values.size() * sizeof(T));
  if (values.empty()) return memory;
  memory::cuda::check(cudaMemcpy(memory.as<void>(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
                      what);
  return memory;
}

/// The memory of the current device for all benches of a pass, and its work in streams. Each bench holds one stack at a
/// time.
class MarkedRings {
 public:
  /// Takes the memory. Throws ResourceError.
  MarkedRings(const Rings& rings, const RingMethod& method, const Setup& setup);

  /// Enqueues limits, then marks, for the images that are processed. The next kernel may begin early
  /// (early_launch.cuh).
  [[nodiscard]] cudaError_t enqueue(const DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept;

  /// The marks for later kernels, in device memory; pixels in no ring are not marked.
  struct Seen {
    const std::uint16_t* ring_of = nullptr;  ///< [pixel]
    const std::uint32_t* firsts = nullptr;   ///< [ring + 1]: ring r has the pixels firsts[r] to firsts[r + 1]
    const RingLimit* limits = nullptr;       ///< [image][ring]
    std::uint32_t* marks = nullptr;          ///< [image][word], one bit for each pixel; 0 behind the last pixel
    std::uint32_t rings = 0;
    std::uint32_t words = 0;  ///< even number of words from one image to the next
  };
  [[nodiscard]] Seen seen(std::uint32_t bench) const noexcept;

  /// The inputs of the limits in device memory, for a kernel that computes the limits itself.
  struct Made {
    const std::uint32_t* order = nullptr;   ///< pixels sorted by ring
    const std::uint32_t* firsts = nullptr;  ///< [ring + 1]: first entry of each ring in `order`
    RingLimit* limits = nullptr;            ///< [image][ring]
    std::uint32_t longest = 0;              ///< most pixels of a ring that shared memory holds
  };
  [[nodiscard]] Made made(std::uint32_t bench) const noexcept {
    return {order_.as<std::uint32_t>(), firsts_.as<std::uint32_t>(), limits_[bench].as<RingLimit>(), room_};
  }

 private:
  RingMethod method_;
  PixelFormat format_;
  std::uint32_t rings_;
  Shape shape_;
  std::uint32_t pixels_, words_, stack_;
  std::uint32_t room_ = 0;  // values of a ring in shared memory
  bool early_;              // kernels begin before the ones in front of them have ended
  memory::cuda::DeviceMemory order_, firsts_, ring_of_, reaches_, lowest_;
  std::vector<memory::cuda::DeviceMemory> limits_, above_, marks_;  // by bench
  std::vector<memory::cuda::DeviceMemory> bins_, others_, states_;  // by bench, where images are counted
};

}  // namespace rashpa::kernel::cuda
