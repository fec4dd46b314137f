#include <algorithm>
#include <cstddef>

#include "rashpa/kernel/jungfrau/jungfrau_device.cuh"

namespace rashpa::kernel::jungfrau::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerProcessor = 4;
constexpr unsigned kAhead = 3;           // images whose raw words are on their way
constexpr unsigned kImagesAtOnce = 256;  // counted in shared memory; calibration is read once for so many

/// What a block found in each image of the stack, and which images it converts.
struct Shared {
  std::uint32_t images;
  std::uint32_t image[kImagesAtOnce];
  Counts counts[kImagesAtOnce];
};

/// Lists the images that have work, in order. One warp; the block waits behind it.
__device__ void list_work(Shared& shared, const Batch& batch, std::uint32_t first, std::uint32_t last) {
  if (threadIdx.x < 32) {
    std::uint32_t listed = 0;
    for (std::uint32_t base = first; base < last; base += 32) {
      const std::uint32_t image = base + threadIdx.x;
      const bool work = image < last && (batch.work == nullptr || batch.work[image] != 0);
      const std::uint32_t ballot = __ballot_sync(~0U, work);
      if (work) shared.image[listed + __popc(ballot & ((1U << threadIdx.x) - 1))] = image;
      listed += __popc(ballot);
    }
    if (threadIdx.x == 0) shared.images = listed;
  }
  for (std::uint32_t i = threadIdx.x; i < last - first; i += kThreads) shared.counts[i] = Counts{};
  __syncthreads();
}

/// The block's threads through the images listed: raw words are asked for kAhead images before they are converted.
template <Output kOutput, bool kCount, bool kMark>
__device__ void convert_tile(Shared& shared, const Tables& tables, const Batch& batch, Thresholds thresholds,
                             const Entries& entries, std::uint32_t thread) {
  const Place place = place_of<kOutput>(thread);
  const std::uint32_t images = shared.images;
  constexpr std::size_t kOutBytes = kOutput == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  const auto load = [&](std::uint32_t i) {
    return load_words<kOutput>(batch.raw + shared.image[i] * batch.raw_stride, place, entries.real);
  };
  uint4 words[kAhead];
#pragma unroll
  for (unsigned a = 0; a < kAhead; ++a) {
    if (a < images) words[a] = load(a);
  }
  for (std::uint32_t begin = 0; begin < images; begin += kAhead) {
#pragma unroll
    for (unsigned a = 0; a < kAhead; ++a) {
      const std::uint32_t i = begin + a;
      if (i >= images) break;
      const uint4 now = words[a];
      if (i + kAhead < images) words[a] = load(i + kAhead);
      const std::size_t image = shared.image[i];
      const auto converted = convert_words<kOutput, kCount, kMark>(now, entries, tables, place, thresholds);
      store(converted, static_cast<std::byte*>(batch.out) + image * batch.out_stride * kOutBytes, place, entries.real);
      if constexpr (kMark) {
        // One byte of a mark word; the words' last bytes may lie behind the last pixel.
        if (place.first < (tables.pixels + kGroup - 1) / kGroup * kGroup) {
          reinterpret_cast<std::uint8_t*>(batch.marks + image * batch.marks_stride)[thread] =
              static_cast<std::uint8_t>(converted.marks);
        }
      }
      if constexpr (kCount) {
        const std::uint32_t bright = __reduce_add_sync(~0U, __popc(converted.bright));
        if (threadIdx.x % 32 == 0 && bright != 0) atomicAdd(&shared.counts[i].bright, bright);
      }
      if (converted.masked != 0) atomicAdd(&shared.counts[i].masked, static_cast<std::uint32_t>(converted.masked));
      if (converted.saturated != 0) atomicAdd(&shared.counts[i].saturated, converted.saturated);
    }
  }
}

template <Output kOutput, bool kCount, bool kMark>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    convert_stack(const Tables tables, const Batch batch, const Thresholds thresholds) {
  __shared__ Shared shared;
  __shared__ std::uint32_t invalid;
  const std::uint32_t padded = (tables.pixels + kGroup - 1) / kGroup * kGroup;
  const std::uint32_t tiles = (padded + kThreads * kThreadPixels - 1) / (kThreads * kThreadPixels);
  for (std::uint32_t first = 0; first < batch.count; first += kImagesAtOnce) {
    const std::uint32_t last = min(first + kImagesAtOnce, batch.count);
    if (threadIdx.x == 0) invalid = 0;
    list_work(shared, batch, first, last);
    for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const std::uint32_t thread = tile * kThreads + threadIdx.x;
      const Entries entries = load_entries<kOutput>(tables, place_of<kOutput>(thread));
      const std::uint32_t more = __reduce_add_sync(~0U, entries.invalid);
      if (threadIdx.x % 32 == 0 && more != 0) atomicAdd(&invalid, more);
      convert_tile<kOutput, kCount, kMark>(shared, tables, batch, thresholds, entries, thread);
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < shared.images; i += kThreads) {
      Counts& total = batch.counts[shared.image[i]];
      const Counts& here = shared.counts[i];
      const std::uint32_t masked = here.masked + invalid;  // here.masked may stand for a negative number
      if (masked != 0) atomicAdd(&total.masked, masked);
      if (here.saturated != 0) atomicAdd(&total.saturated, here.saturated);
      if (here.bright != 0) atomicAdd(&total.bright, here.bright);
    }
    __syncthreads();
  }
}

using Kernel = void (*)(Tables, Batch, Thresholds);

Kernel kernel_for(Output output, const Taps& taps) noexcept {
  if (output == Output::kev) return convert_stack<Output::kev, false, false>;
  if (taps.count) {
    return taps.mark ? convert_stack<Output::photons, true, true> : convert_stack<Output::photons, true, false>;
  }
  return taps.mark ? convert_stack<Output::photons, false, true> : convert_stack<Output::photons, false, false>;
}

}  // namespace

cudaError_t convert(const Tables& tables, Output output, const Batch& batch, const Taps& taps,
                    cudaStream_t stream) noexcept {
  if (batch.count == 0) return cudaSuccess;
  int device = 0;
  int processors = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (status != cudaSuccess) return status;
  const std::uint32_t tiles = (tables.pixels + kThreads * kThreadPixels - 1) / (kThreads * kThreadPixels);
  const auto blocks = std::min(tiles, static_cast<std::uint32_t>(processors) * kBlocksPerProcessor);
  kernel_for(output, taps)<<<blocks, kThreads, 0, stream>>>(tables, batch, thresholds_of(taps));
  return cudaGetLastError();
}

}  // namespace rashpa::kernel::jungfrau::cuda
