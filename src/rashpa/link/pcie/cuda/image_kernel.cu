// SPDX-License-Identifier: Apache-2.0
#include <cuda/atomic>

#include "rashpa/link/pcie/cuda/image_kernel.hpp"

namespace rashpa::link::pcie {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLoads = 16;                   // of a thread, on their way before the first store
constexpr unsigned kVectors = kThreads * kLoads;  // of a block: 64 KiB
static_assert(kThreads >= FrameRecord::kBytes);

using DeviceWord = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;
using DeviceNumber = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;
using SystemWord = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;
using SystemNumber = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>;

// acq_rel: stores of this thread, and of those that it met, are seen by processors before later ones
__device__ void fence_system() { cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_system); }

// Where a thread is in a part; its next vector is kThreads further.
struct Place {
  std::uint32_t row;
  std::uint32_t column;
  __device__ void step(std::uint32_t vectors, std::uint32_t rows, std::uint32_t columns) {
    row += rows;
    column += columns;
    if (column >= vectors) {
      column -= vectors;
      ++row;
    }
  }
};

// Nothing is read twice: no use to keep it.
__device__ void copy_block(const ImageBatch::Part& part, std::uint32_t block) {
  const std::uint32_t first = block * kVectors + threadIdx.x;
  const std::uint32_t vectors = part.vectors;
  const std::uint32_t rows = kThreads / vectors;
  const std::uint32_t columns = kThreads % vectors;
  const Place begin{first / vectors, first % vectors};
  uint4 held[kLoads];
  Place place = begin;
#pragma unroll
  for (unsigned i = 0; i < kLoads; ++i) {
    const auto* const from = reinterpret_cast<const uint4*>(part.from + place.row * part.from_pitch) + place.column;
    if (first + i * kThreads < part.all) held[i] = __ldcs(from);
    place.step(vectors, rows, columns);
  }
  place = begin;
#pragma unroll
  for (unsigned i = 0; i < kLoads; ++i) {
    auto* const to = reinterpret_cast<uint4*>(part.to + place.row * part.to_pitch) + place.column;
    if (first + i * kThreads < part.all) __stcs(to, held[i]);
    place.step(vectors, rows, columns);
  }
}

__device__ bool arrived(const ImageBatch& batch, std::uint32_t image) {
  // acquire: this thread ends the image, and sees the lines that the blocks had written before they counted (release)
  return DeviceWord(batch.arrived[image]).load(cuda::memory_order_acquire) == batch.blocks[image];
}

__device__ void await_lines(const ImageBatch& batch, std::uint32_t image) {
  while (!arrived(batch, image)) __nanosleep(32);
}

// Records at once, a byte a thread: one may lie at any offset. Then what is announced, when its lines are there.
__device__ void end_images(const ImageBatch& batch) {
  for (std::uint32_t i = 0; i < batch.end_count; ++i) {
    const EndOfImage& end = batch.ends[i];
    if (end.record != nullptr && threadIdx.x < FrameRecord::kBytes) {
      end.record[threadIdx.x] = end.bytes.data()[threadIdx.x];
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  const DeviceNumber sequence(*batch.sequence);
  if (batch.end_count != 0) await_lines(batch, 0);
  // acquire: the launch before released `sequence` at its end, so its lock words and `reached` come before these
  while (sequence.load(cuda::memory_order_acquire) != batch.number - 1) __nanosleep(32);
  for (std::uint32_t image = 0; image < batch.end_count;) {
    await_lines(batch, image);
    std::uint32_t behind = image + 1;
    while (behind < batch.end_count && arrived(batch, behind)) ++behind;
    fence_system();
    // relaxed: fences before and behind order lines, lock words and `reached` for the receiver and the source
    for (; image < behind; ++image) {
      const EndOfImage& end = batch.ends[image];
      if (end.lock != nullptr) SystemWord(*end.lock).store(end.immediate, cuda::memory_order_relaxed);
    }
    fence_system();
    const EndOfImage& last = batch.ends[image - 1];
    SystemNumber(*last.reached).store(last.number, cuda::memory_order_relaxed);
  }
  await_lines(batch, batch.end_count);
  for (std::uint32_t i = 0; i <= batch.end_count; ++i) batch.arrived[i] = 0;  // for the next launch of this stream
  // relaxed: as above; release: the next launch acquires `sequence`
  SystemNumber(*batch.done).store(batch.number, cuda::memory_order_relaxed);
  sequence.store(batch.number, cuda::memory_order_release);
}

__global__ void __launch_bounds__(kThreads) send_images(const __grid_constant__ ImageBatch batch) {
  if (blockIdx.x == 0) return end_images(batch);
  const std::uint32_t block = blockIdx.x - 1;
  std::uint32_t number = 0;
  while (number + 1 < batch.part_count && block >= batch.parts[number + 1].first) ++number;
  const ImageBatch::Part& part = batch.parts[number];
  copy_block(part, block - part.first);
  __syncthreads();
  if (threadIdx.x != 0) return;
  fence_system();
  // release: block 0 acquires, and ends the image behind its lines
  DeviceWord(batch.arrived[part.image]).fetch_add(1, cuda::memory_order_release);
}

}  // namespace

void ImageBatch::add(const CopiedLines& lines) noexcept {
  const auto vectors = static_cast<std::uint32_t>(lines.width / sizeof(uint4));
  const std::uint32_t all = vectors * lines.rows;
  const std::uint32_t needed = (all + kVectors - 1) / kVectors;
  parts[part_count++] = {.to = lines.to,
                         .to_pitch = lines.to_pitch,
                         .from = lines.from,
                         .from_pitch = lines.from_pitch,
                         .vectors = vectors,
                         .all = all,
                         .first = block_count,
                         .image = end_count};
  blocks[end_count] += needed;
  block_count += needed;
}

cudaError_t launch(const ImageBatch& batch, cudaStream_t stream) noexcept {
  send_images<<<1 + batch.block_count, kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace rashpa::link::pcie
