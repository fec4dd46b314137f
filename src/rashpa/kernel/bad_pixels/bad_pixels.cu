// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "rashpa/kernel/bad_pixels/bad_pixels_cuda.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::bad_pixels::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint32_t kVectorBytes = 16;  // of a thread

template <typename T>
struct alignas(kVectorBytes) Vector {
  static constexpr std::uint32_t kPixels = kVectorBytes / sizeof(T);
  T pixel[kPixels];
};

/// Each thread handles some consecutive pixels of an image. `words`: a bit a pixel, 1 where it is bad; T: as large as a
/// pixel.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    mask_bad(const std::byte* images, std::size_t stride, std::byte* made, std::size_t made_stride,
             const std::uint8_t* work, const std::uint32_t* words, std::uint32_t pixels, T masked) {
  constexpr std::uint32_t kPixels = Vector<T>::kPixels;
  const std::uint32_t image = blockIdx.y;
  if (work[image] == 0) return;
  const std::uint64_t first = (std::uint64_t{blockIdx.x} * kThreads + threadIdx.x) * kPixels;
  if (first >= pixels) return;
  const auto* const from = reinterpret_cast<const T*>(images + image * stride);
  auto* const to = reinterpret_cast<T*>(made + image * made_stride);
  const std::uint32_t bad = __ldg(&words[first / 32]) >> (first % 32);
  if (first + kPixels <= pixels) {
    auto some = *reinterpret_cast<const Vector<T>*>(from + first);
#pragma unroll
    for (std::uint32_t k = 0; k < kPixels; ++k) some.pixel[k] = (bad >> k & 1U) != 0 ? masked : some.pixel[k];
    *reinterpret_cast<Vector<T>*>(to + first) = some;
    return;
  }
  for (std::uint32_t k = 0; first + k < pixels; ++k) to[first + k] = (bad >> k & 1U) != 0 ? masked : from[first + k];
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const Config& config, PixelFormat format) : Pass(words_of(config), config.shape.pixels(), format) {}
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t /*bench*/,
              cudaStream_t stream) const noexcept override {
    switch (pixel_bytes_) {
      case 1:
        return launch<std::uint8_t>(stack, stream);
      case 2:
        return launch<std::uint16_t>(stack, stream);
      default:
        return launch<std::uint32_t>(stack, stream);
    }
  }

 private:
  Pass(const std::vector<std::uint32_t>& words, std::size_t pixels, PixelFormat format)
      : pixels_(static_cast<std::uint32_t>(pixels)),
        pixel_bytes_(pixel_bytes(format.type)),
        masked_(masked_bits(format)),
        words_(words.size() * sizeof(std::uint32_t)) {
    memory::cuda::check(
        cudaMemcpy(words_.as<void>(), words.data(), words.size() * sizeof(std::uint32_t), cudaMemcpyHostToDevice),
        "bad pixels");
  }
  template <typename T>
  int launch(const kernel::cuda::DeviceStack& stack, cudaStream_t stream) const noexcept {
    constexpr std::uint32_t kTile = kThreads * Vector<T>::kPixels;
    const dim3 blocks(pixels_ / kTile + (pixels_ % kTile != 0 ? 1 : 0), stack.count);
    mask_bad<T><<<blocks, kThreads, 0, stream>>>(stack.in, stack.in_stride, stack.out, stack.out_stride, stack.work,
                                                 words_.as<std::uint32_t>(), pixels_, static_cast<T>(masked_));
    return cudaGetLastError();
  }
  std::uint32_t pixels_;
  std::size_t pixel_bytes_;
  std::uint32_t masked_;
  memory::cuda::DeviceMemory words_;
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup) {
  return std::make_unique<Pass>(config, setup.in);
}

}  // namespace rashpa::kernel::bad_pixels::cuda
