// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Chunks made on a CUDA device, declared without CUDA headers: a stream is a pointer, an error is a cudaError_t as
/// int.
#include <cstddef>
#include <cstdint>
#include <memory>

struct CUstream_st;

namespace rashpa::kernel::bitshuffle_lz4::cuda {

/// Images of a stack in device memory.
struct DeviceImages {
  const std::byte* images = nullptr;   ///< aligned to 16 bytes, like the stride
  std::size_t stride = 0;              ///< bytes
  const std::uint8_t* work = nullptr;  ///< [count]; 0: the image gets no chunk, and its length is 0
  std::uint32_t count = 0;
};

/// The destination of chunks: image i has its chunk at byte i · stride and its length at bytes[i]. The memory is that
/// of the device, or host memory that the device can access. Address and stride are aligned to 16 bytes; the stride is
/// at least room_for_chunk().
struct Chunks {
  std::byte* chunks = nullptr;
  std::size_t stride = 0;
  std::uint32_t* bytes = nullptr;
};

/// Returns true when an Encoder supports such images: a whole number of elements of 1, 2 or 4 bytes, below 2³¹ bytes.
bool takes_images(std::size_t image_bytes, std::size_t element_bytes) noexcept;

/// Returns the room for the chunk of an image in bytes, a multiple of 16.
std::size_t room_for_chunk(std::size_t image_bytes, std::size_t element_bytes) noexcept;

/// Compresses stacks of images. It owns memory of the device that was current when it was made. Each block has the
/// bytes that pack_runs() makes of its planes.
class Encoder {
 public:
  /// Takes device memory for stacks of up to `images` images. Throws ConfigError for unsupported images, and
  /// ResourceError.
  Encoder(std::size_t image_bytes, std::size_t element_bytes, std::uint32_t images);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  ~Encoder();
  /// Enqueues the compression of one stack into the stream; all addresses are fixed. Nothing allocates or waits.
  int enqueue(const DeviceImages& in, const Chunks& out, CUstream_st* stream) const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rashpa::kernel::bitshuffle_lz4::cuda
