// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernel `bitshuffle_lz4`: the chunk format of HDF5 filter 32008 (user values {0, 2}) and of stream2's "bslz4".
/// README.md has the layout.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace rashpa::memory {
class Team;  // memory/team.hpp
}

namespace rashpa::kernel::bitshuffle_lz4 {

inline constexpr std::uint32_t kFilterId = 32008;  ///< registered with the HDF Group for bitshuffle
inline constexpr std::size_t kHeaderBytes = 12;    ///< 8 bytes uncompressed size, 4 bytes block size, big-endian
inline constexpr std::size_t kTargetBlockBytes = 8192;

/// Returns the default number of elements in a block: 8192 bytes, a multiple of 8 elements, at least 128.
constexpr std::size_t default_block_elements(std::size_t element_bytes) noexcept {
  const std::size_t elements = kTargetBlockBytes / element_bytes / 8 * 8;
  return elements < 128 ? 128 : elements;
}

/// Returns the most bytes that the chunk of `bytes` bytes of input can have, header included.
std::size_t compressed_bound(std::size_t bytes, std::size_t element_bytes) noexcept;

/// A part of an image in bytes: whole blocks, except for the rest behind the last block.
struct Part {
  std::size_t first = 0;
  std::size_t last = 0;
  bool head = true;  ///< true: its piece of the chunk begins with the header
};
/// Returns part `number` of an image of `bytes` bytes that is divided into `parts` parts. A part may be empty.
Part part_of(std::size_t bytes, std::size_t element_bytes, std::size_t number, std::size_t parts) noexcept;

constexpr bool is_element(std::size_t bytes) noexcept { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

/// Compresses images. The constructor takes its scratch memory; compress() does not allocate. One per thread.
class Compressor {
 public:
  /// Takes the memory. `element_bytes` is 1, 2, 4 or 8; throws ConfigError otherwise.
  explicit Compressor(std::size_t element_bytes);
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;
  ~Compressor();

  /// Writes the whole chunk, header included, to `out`, which has room for compressed_bound(). Returns the bytes of the
  /// chunk; 0 when `in` is not a whole number of elements or `out` is too small.
  std::size_t compress(std::span<const std::byte> in, std::span<std::byte> out) noexcept;
  /// Writes the part's piece of the chunk and returns its bytes; the first piece has the header. All pieces in order,
  /// made by any Compressors, equal the chunk of compress(). `out` has room for compressed_bound() of the part's bytes.
  std::size_t compress_part(std::span<const std::byte> in, Part part, std::span<std::byte> out) noexcept;

 private:
  struct State;
  std::size_t element_bytes_;
  std::unique_ptr<State> state_;
};

/// Returns the uncompressed bytes that the header of `chunk` states; nothing when the chunk is shorter than a header.
std::optional<std::uint64_t> uncompressed_bytes(std::span<const std::byte> chunk) noexcept;

/// Compresses and decompresses on several threads that share the blocks of one image. One thread at a time calls it,
/// and works, too.
class ThreadedCodec {
 public:
  /// Starts the threads. `threads` ≥ 1 includes the caller's. Throws ConfigError as Compressor does, and ResourceError
  /// when a thread cannot be started.
  ThreadedCodec(std::size_t element_bytes, unsigned threads);
  ~ThreadedCodec();
  ThreadedCodec(const ThreadedCodec&) = delete;
  ThreadedCodec& operator=(const ThreadedCodec&) = delete;

  /// Makes the same bytes as Compressor::compress(). The first image of a larger size grows its scratch memory.
  std::size_t compress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Decompresses as decompress() does. Returns false for a damaged chunk.
  bool decompress(std::span<const std::byte> chunk, std::span<std::byte> out);

 private:
  std::size_t element_bytes_;
  std::vector<Compressor> compressors_;  // by thread
  std::vector<std::vector<std::byte>> pieces_;
  std::vector<std::vector<std::byte>> planes_;  // by thread
  std::unique_ptr<memory::Team> team_;          // of those besides the caller; last: its threads use all of the above
};

/// Decompresses a chunk from an untrusted source. `out` must have exactly the bytes that the header states. Returns
/// false when the chunk is truncated, too long, inconsistent or has a bad LZ4 block; `out` is then undefined.
bool decompress(std::span<const std::byte> chunk, std::size_t element_bytes, std::span<std::byte> out);

}  // namespace rashpa::kernel::bitshuffle_lz4
