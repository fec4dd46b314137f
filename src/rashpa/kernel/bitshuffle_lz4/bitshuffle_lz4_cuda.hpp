// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Chunks made on a CUDA device. Without CUDA headers: a stream is a pointer, an error is a cudaError_t as int.
#include <cstddef>
#include <cstdint>
#include <memory>

struct CUstream_st;

namespace rashpa::kernel::bitshuffle_lz4::cuda {

/// Images of a stack in device memory.
struct DeviceImages {
  const std::byte* images = nullptr;   ///< aligned to 16 bytes, as is the distance
  std::size_t stride = 0;              ///< bytes
  const std::uint8_t* work = nullptr;  ///< [count]: 0: no chunk is made, and its bytes are 0
  std::uint32_t count = 0;
};

/// Where chunks go: image i has its chunk from byte i · stride on, and its length at bytes[i]. Memory of the host that
/// is the device's, too, or of the device; aligned to 16 bytes, as is the distance, which is room_for_chunk() at least.
struct Chunks {
  std::byte* chunks = nullptr;
  std::size_t stride = 0;
  std::uint32_t* bytes = nullptr;
};

/// Returns true when an Encoder takes such images: a whole number of elements of 1, 2 or 4 bytes, less than 2³¹.
bool takes_images(std::size_t image_bytes, std::size_t element_bytes) noexcept;

/// Room for the chunk of an image, a multiple of 16.
std::size_t room_for_chunk(std::size_t image_bytes, std::size_t element_bytes) noexcept;

/// Compresses stacks of images; owns memory of the device that was the current one when it was made. Each block has the
/// bytes that pack_runs() makes of its planes.
class Encoder {
 public:
  /// `images`: most in a stack. Throws ConfigError when it does not take them, ResourceError.
  Encoder(std::size_t image_bytes, std::size_t element_bytes, std::uint32_t images);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  ~Encoder();
  /// Puts the work into the stream, one stack at a time; all addresses are fixed. Nothing allocates or waits.
  int enqueue(const DeviceImages& in, const Chunks& out, CUstream_st* stream) const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rashpa::kernel::bitshuffle_lz4::cuda
