// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4_cuda.hpp"
#include "rashpa/kernel/bitshuffle_lz4/lz4_runs.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::bitshuffle_lz4::cuda {

namespace {

using memory::cuda::DeviceMemory;

constexpr unsigned kBlock = kTargetBlockBytes;  // bytes; a warp compresses one
constexpr unsigned kWarps = 4;                  // of a thread block
constexpr unsigned kAll = ~0U;
constexpr unsigned kStep = 128;   // bytes of which a warp makes a word of 32 elements for each lane
constexpr unsigned kRoom = 8256;  // for a block with its length: lz4 needs 8240 at most
constexpr unsigned kMostPlanes = 32;
constexpr unsigned kLong = 15;  // a token's half: more bytes follow
constexpr unsigned kLayThreads = 1024;

/// Images and blocks, all the same.
struct Shape {
  std::uint32_t bytes = 0;     // of an image
  std::uint32_t shuffled = 0;  // without the elements at the end that are fewer than 8
  std::uint32_t blocks = 0;
};

/// The shared memory of a warp.
struct Bench {
  // Planes of a full block lie a word further apart than they are long, so that the lanes' words of as many planes are
  // in as many banks.
  std::uint32_t planes[kBlock / 4 + kMostPlanes];
  std::uint32_t repeats[kBlock / 32];  // bit i: byte i of the planes is that before it
};

/// The planes as one row of bytes.
struct Row {
  const std::uint32_t* planes = nullptr;
  unsigned bytes = 0;
  unsigned shift = 31;  // a plane has 2^shift bytes

  __device__ __forceinline__ unsigned place(unsigned at) const { return at + 4 * (at >> shift); }
  __device__ __forceinline__ std::uint32_t word(unsigned at) const { return planes[place(at) / 4]; }
  __device__ __forceinline__ std::uint8_t byte(unsigned at) const {
    return reinterpret_cast<const std::uint8_t*>(planes)[place(at)];
  }
};

/// Transposes the bits of a block: lane l gets what belongs to plane l mod planes, 32 elements at a time.
template <typename T>
__device__ void transpose(const T* from, unsigned elements, unsigned lane, std::uint32_t* planes) {
  constexpr unsigned kPlanes = 8 * sizeof(T);
  constexpr unsigned kGroups = 32 / kPlanes;  // of 32 elements, in a step
  constexpr unsigned kPitch = kBlock / kPlanes / 4 + 1;
  const bool full = elements * sizeof(T) == kBlock;
  const unsigned plane_bytes = elements / 8;
  const unsigned plane = lane % kPlanes;
#pragma unroll 4
  for (unsigned step = 0; step < kBlock / kStep; ++step) {
    if (step * kStep >= elements * sizeof(T)) break;
    std::uint32_t word = 0;
#pragma unroll
    for (unsigned g = 0; g < kGroups; ++g) {
      const unsigned element = (step * kGroups + g) * 32 + lane;
      const T value = full || element < elements ? from[element] : T{0};
#pragma unroll
      for (unsigned b = 0; b < kPlanes; ++b) {
        const std::uint32_t bits = __ballot_sync(kAll, ((value >> b) & 1U) != 0);
        if (lane == g * kPlanes + b) word = bits;
      }
    }
    const unsigned at = step * kGroups + lane / kPlanes;  // word of the plane
    if (full) {
      planes[plane * kPitch + at] = word;
    } else {
      auto* const bytes = reinterpret_cast<std::uint8_t*>(planes) + plane * plane_bytes;
      for (unsigned b = 0; b < 4; ++b) {
        if (4 * at + b < plane_bytes) bytes[4 * at + b] = static_cast<std::uint8_t>(word >> (8 * b));
      }
    }
  }
}

/// Marks the bytes of the row that equal the one before them: 128 at a time, four of each lane.
__device__ void find_repeats(const Row& row, unsigned lane, std::uint32_t* repeats) {
  std::uint32_t last = ~(row.word(0) & 0xFFU) << 24U;  // the first byte repeats nothing
  for (unsigned begin = 0; begin < kBlock; begin += kStep) {
    const unsigned at = begin + 4 * lane;
    const bool here = at < row.bytes;
    const std::uint32_t word = here ? row.word(at) : 0;
    std::uint32_t before = __shfl_up_sync(kAll, word, 1);
    if (lane == 0) before = last;
    last = __shfl_sync(kAll, word, 31);
    const std::uint32_t equal = __vcmpeq4(word, __funnelshift_l(before, word, 8)) & 0x01010101U;
    std::uint32_t bits = here ? ((equal * 0x01020408U) >> 24U & 15U) << (lane % 8 * 4) : 0;
#pragma unroll
    for (unsigned distance = 1; distance < 8; distance *= 2) bits |= __shfl_xor_sync(kAll, bits, distance);
    if (lane % 8 == 0) repeats[begin / 32 + lane / 8] = bits;
  }
}

/// Returns where the first run begins that is long enough, from `at` on; kBlock: nowhere.
__device__ unsigned next_run(const std::uint32_t* repeats, unsigned at, unsigned lane) {
  static_assert(kLeastMatch == 4);
  for (unsigned first = at / 32; first < kBlock / 32; first += 32) {
    const unsigned w = first + lane;
    const std::uint32_t low = w < kBlock / 32 ? repeats[w] : 0;
    const std::uint32_t high = w + 1 < kBlock / 32 ? repeats[w + 1] : 0;
    std::uint32_t starts =
        low & __funnelshift_r(low, high, 1) & __funnelshift_r(low, high, 2) & __funnelshift_r(low, high, 3);
    if (w == at / 32) starts &= kAll << (at % 32);
    const std::uint32_t which = __ballot_sync(kAll, starts != 0);
    if (which == 0) continue;
    const int found = __ffs(static_cast<int>(which)) - 1;
    return (first + found) * 32 + __ffs(static_cast<int>(__shfl_sync(kAll, starts, found))) - 1;
  }
  return kBlock;
}

/// Returns where the run ends in which `at` lies. Bytes behind the row repeat nothing.
__device__ unsigned end_of_run(const std::uint32_t* repeats, unsigned at, unsigned lane) {
  for (unsigned first = at / 32; first < kBlock / 32; first += 32) {
    const unsigned w = first + lane;
    std::uint32_t ends = w < kBlock / 32 ? ~repeats[w] : kAll;
    if (w == at / 32) ends &= kAll << (at % 32);
    const std::uint32_t which = __ballot_sync(kAll, ends != 0);
    if (which == 0) continue;
    const int found = __ffs(static_cast<int>(which)) - 1;
    return min((first + found) * 32 + __ffs(static_cast<int>(__shfl_sync(kAll, ends, found))) - 1, kBlock);
  }
  return kBlock;
}

/// Writes the bytes behind a token's half; returns their number.
__device__ __forceinline__ unsigned put_more(std::uint8_t* to, unsigned length, unsigned lane) {
  if (length < kLong) return 0;
  const unsigned whole = (length - kLong) / 255;
  for (unsigned i = lane; i <= whole; i += 32) {
    to[i] = i < whole ? 255 : static_cast<std::uint8_t>(length - kLong - 255 * whole);
  }
  return whole + 1;
}

/// A token with its literals; returns how many bytes.
__device__ __forceinline__ unsigned put_literals(const Row& row, unsigned first, unsigned literals, unsigned match_half,
                                                 std::uint8_t* to, unsigned lane) {
  if (lane == 0) *to = static_cast<std::uint8_t>(min(literals, kLong) << 4U | match_half);
  const unsigned head = 1 + put_more(to + 1, literals, lane);
  for (unsigned i = lane; i < literals; i += 32) to[head + i] = row.byte(first + i);
  return head + literals;
}

/// Packs a row into the bytes that pack_runs() makes of it; called by a whole warp. Returns their number.
__device__ unsigned pack(const Row& row, const std::uint32_t* repeats, std::uint8_t* out, unsigned lane) {
  unsigned put = 0;
  unsigned done = 0;
  for (;;) {
    const unsigned begin = next_run(repeats, done + 1, lane);
    if (begin + kLastMatch > row.bytes) break;
    const unsigned end = min(end_of_run(repeats, begin, lane), row.bytes - static_cast<unsigned>(kLastLiterals));
    const unsigned length = end - begin - static_cast<unsigned>(kLeastMatch);
    put += put_literals(row, done, begin - done, min(length, kLong), out + put, lane);
    if (lane < 2) out[put + lane] = static_cast<std::uint8_t>(1 - lane);
    put += 2;
    put += put_more(out + put, length, lane);
    done = end;
  }
  return put + put_literals(row, done, row.bytes - done, 0, out + put, lane);
}

/// A warp makes one block of one image: its length, then what is packed, in `room`.
template <typename T>
__global__ void __launch_bounds__(kWarps * 32)
    encode(const DeviceImages in, const Shape shape, std::uint8_t* room, std::uint32_t* sizes) {
  __shared__ Bench benches[kWarps];
  const std::uint32_t image = blockIdx.y;
  const std::uint32_t block = blockIdx.x * kWarps + threadIdx.x / 32;
  if (in.work[image] == 0 || block >= shape.blocks) return;
  Bench& bench = benches[threadIdx.x / 32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned bytes = min(kBlock, shape.shuffled - block * kBlock);
  transpose(reinterpret_cast<const T*>(in.images + image * in.stride + std::size_t{block} * kBlock), bytes / sizeof(T),
            lane, bench.planes);
  constexpr unsigned kPlaneShift = sizeof(T) == 1 ? 10 : sizeof(T) == 2 ? 9 : 8;
  const Row row{bench.planes, bytes, bytes == kBlock ? kPlaneShift : 31};
  __syncwarp();
  find_repeats(row, lane, bench.repeats);
  __syncwarp();
  const std::size_t number = std::size_t{image} * shape.blocks + block;
  std::uint8_t* const to = room + number * kRoom;
  const unsigned packed = pack(row, bench.repeats, to + 4, lane);
  if (lane < 4) to[lane] = static_cast<std::uint8_t>(packed >> (24 - 8 * lane));
  if (lane == 0) sizes[number] = packed + 4;
}

/// Replaces the size of each block of an image by its place in the chunk, and writes how a chunk begins and ends. A
/// thread block an image.
__global__ void __launch_bounds__(kLayThreads) lay_out(const DeviceImages in, const Shape shape, std::uint32_t* places,
                                                       std::uint32_t* sizes, std::byte* chunks, std::size_t stride) {
  __shared__ std::uint32_t of_warp[kLayThreads / 32];
  const std::uint32_t image = blockIdx.x;
  if (in.work[image] == 0) {
    if (threadIdx.x == 0) places[std::size_t{image} * (shape.blocks + 1) + shape.blocks] = 0;
    return;
  }
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t* const mine = places + std::size_t{image} * (shape.blocks + 1);
  const std::uint32_t* const lengths = sizes + std::size_t{image} * shape.blocks;
  std::uint32_t base = kHeaderBytes;
  for (std::uint32_t first = 0; first < shape.blocks; first += kLayThreads) {
    const std::uint32_t block = first + threadIdx.x;
    const std::uint32_t length = block < shape.blocks ? lengths[block] : 0;
    std::uint32_t sum = length;
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const std::uint32_t other = __shfl_up_sync(kAll, sum, distance);
      if (lane >= distance) sum += other;
    }
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    std::uint32_t before = 0;
    std::uint32_t all = 0;
    for (unsigned w = 0; w < kLayThreads / 32; ++w) {
      before += w < warp ? of_warp[w] : 0;
      all += of_warp[w];
    }
    if (block < shape.blocks) mine[block] = base + before + sum - length;
    base += all;
    __syncthreads();
  }
  auto* const chunk = reinterpret_cast<std::uint8_t*>(chunks + image * stride);
  if (threadIdx.x < 8) {
    chunk[threadIdx.x] = static_cast<std::uint8_t>(std::uint64_t{shape.bytes} >> (56 - 8 * threadIdx.x));
  } else if (threadIdx.x < kHeaderBytes) {
    chunk[threadIdx.x] = static_cast<std::uint8_t>(kBlock >> (24 - 8 * (threadIdx.x - 8)));
  }
  const std::uint32_t rest = shape.bytes - shape.shuffled;
  const auto* const image_bytes = reinterpret_cast<const std::uint8_t*>(in.images + image * in.stride);
  if (threadIdx.x < rest) chunk[base + threadIdx.x] = image_bytes[shape.shuffled + threadIdx.x];
  if (threadIdx.x == 0) mine[shape.blocks] = base + rest;
}

/// A warp brings a block to its place in the chunk. Words of the chunk are made from two of the block's.
__global__ void __launch_bounds__(kWarps * 32)
    gather(const DeviceImages in, const Shape shape, const std::uint8_t* room, const std::uint32_t* places,
           const std::uint32_t* sizes, std::byte* chunks, std::size_t stride) {
  const std::uint32_t image = blockIdx.y;
  const std::uint32_t block = blockIdx.x * kWarps + threadIdx.x / 32;
  if (in.work[image] == 0 || block >= shape.blocks) return;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t number = std::size_t{image} * shape.blocks + block;
  const std::uint8_t* const from = room + number * kRoom;
  const std::uint32_t bytes = sizes[number];
  auto* const to = reinterpret_cast<std::uint8_t*>(chunks + image * stride) +
                   places[std::size_t{image} * (shape.blocks + 1) + block];
  const auto head = min(static_cast<std::uint32_t>(-reinterpret_cast<std::uintptr_t>(to) & 3U), bytes);
  if (lane < head) to[lane] = from[lane];
  const auto* const words = reinterpret_cast<const std::uint32_t*>(from);
  auto* const wide = reinterpret_cast<std::uint32_t*>(to + head);
  const std::uint32_t whole = (bytes - head) / 4;
  for (std::uint32_t w = lane; w < whole; w += 32) wide[w] = __funnelshift_r(words[w], words[w + 1], 8 * head);
  const std::uint32_t done = head + 4 * whole;
  if (done + lane < bytes) to[done + lane] = from[done + lane];
}

/// Chunks to where they are wanted, and their lengths.
__global__ void hand_out(const std::byte* chunks, std::size_t stride, const Shape shape, const std::uint32_t* places,
                         const Chunks out) {
  const std::uint32_t image = blockIdx.y;
  const std::uint32_t bytes = places[std::size_t{image} * (shape.blocks + 1) + shape.blocks];
  const auto* const from = reinterpret_cast<const uint4*>(chunks + image * stride);
  auto* const to = reinterpret_cast<uint4*>(out.chunks + image * out.stride);
  const std::uint32_t pieces = (bytes + 15) / 16;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < pieces; i += gridDim.x * blockDim.x)
    to[i] = from[i];
  if (blockIdx.x == 0 && threadIdx.x == 0) out.bytes[image] = bytes;
}

constexpr bool is_element_here(std::size_t bytes) noexcept { return bytes == 1 || bytes == 2 || bytes == 4; }

Shape shape_of(std::size_t image_bytes, std::size_t element_bytes) {
  if (!is_element_here(element_bytes)) {
    throw ConfigError("bitshuffle_lz4: elements of " + std::to_string(element_bytes) +
                      " bytes; a device takes 1, 2 or 4");
  }
  if (!takes_images(image_bytes, element_bytes)) {
    throw ConfigError("bitshuffle_lz4: an image of " + std::to_string(image_bytes) +
                      " bytes; a device takes whole elements, 2147483647 bytes at most");
  }
  Shape shape;
  shape.bytes = static_cast<std::uint32_t>(image_bytes);
  shape.shuffled = static_cast<std::uint32_t>(image_bytes / (8 * element_bytes) * (8 * element_bytes));
  shape.blocks = (shape.shuffled + kBlock - 1) / kBlock;
  return shape;
}

}  // namespace

bool takes_images(std::size_t image_bytes, std::size_t element_bytes) noexcept {
  constexpr std::size_t kMostBytes = (std::size_t{1} << 31U) - 1;
  return is_element_here(element_bytes) && image_bytes % element_bytes == 0 && image_bytes <= kMostBytes;
}

std::size_t room_for_chunk(std::size_t image_bytes, std::size_t element_bytes) noexcept {
  return (compressed_bound(image_bytes, element_bytes) + 15) / 16 * 16;
}

struct Encoder::State {
  State(std::size_t image_bytes, std::size_t bytes_of_element, std::uint32_t images)
      : shape(shape_of(image_bytes, bytes_of_element)),
        element_bytes(bytes_of_element),
        stride(room_for_chunk(image_bytes, bytes_of_element)),
        room(std::size_t{images} * shape.blocks * kRoom),
        sizes(std::size_t{images} * shape.blocks * sizeof(std::uint32_t)),
        places(std::size_t{images} * (shape.blocks + 1) * sizeof(std::uint32_t)),
        chunks(images * stride) {}
  Shape shape;
  std::size_t element_bytes;
  std::size_t stride;
  DeviceMemory room, sizes, places, chunks;
};

Encoder::Encoder(std::size_t image_bytes, std::size_t element_bytes, std::uint32_t images)
    : state_(std::make_unique<State>(image_bytes, element_bytes, images)) {}
Encoder::~Encoder() = default;

int Encoder::enqueue(const DeviceImages& in, const Chunks& out, cudaStream_t stream) const noexcept {
  const State& own = *state_;
  auto* const room = own.room.as<std::uint8_t>();
  auto* const sizes = own.sizes.as<std::uint32_t>();
  auto* const places = own.places.as<std::uint32_t>();
  auto* const chunks = own.chunks.as<std::byte>();
  if (in.count == 0) return cudaSuccess;
  const dim3 grid((own.shape.blocks + kWarps - 1) / kWarps, in.count);
  if (own.shape.blocks != 0) {
    if (own.element_bytes == 1) {
      encode<std::uint8_t><<<grid, kWarps * 32, 0, stream>>>(in, own.shape, room, sizes);
    } else if (own.element_bytes == 2) {
      encode<std::uint16_t><<<grid, kWarps * 32, 0, stream>>>(in, own.shape, room, sizes);
    } else {
      encode<std::uint32_t><<<grid, kWarps * 32, 0, stream>>>(in, own.shape, room, sizes);
    }
  }
  lay_out<<<in.count, kLayThreads, 0, stream>>>(in, own.shape, places, sizes, chunks, own.stride);
  if (own.shape.blocks != 0) {
    gather<<<grid, kWarps * 32, 0, stream>>>(in, own.shape, room, places, sizes, chunks, own.stride);
  }
  constexpr unsigned kHandBlocks = 32;  // of each image
  hand_out<<<dim3(kHandBlocks, in.count), 256, 0, stream>>>(chunks, own.stride, own.shape, places, out);
  return cudaGetLastError();
}

}  // namespace rashpa::kernel::bitshuffle_lz4::cuda
