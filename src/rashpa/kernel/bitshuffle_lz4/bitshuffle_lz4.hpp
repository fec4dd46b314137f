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

/// Elements of a block when the user asks for none: 8192 bytes, a multiple of 8, at least 128.
constexpr std::size_t default_block_elements(std::size_t element_bytes) noexcept {
  const std::size_t elements = kTargetBlockBytes / element_bytes / 8 * 8;
  return elements < 128 ? 128 : elements;
}

/// Room that any `bytes` of input need at most, header included.
std::size_t compressed_bound(std::size_t bytes, std::size_t element_bytes) noexcept;

/// A part of an image, in bytes: whole blocks, except the rest behind the last one.
struct Part {
  std::size_t first = 0;
  std::size_t last = 0;
  bool head = true;  ///< its piece of the chunk begins with the header
};
/// Part `number` of `parts` of an image of `bytes` bytes; may be empty. All of them together are the image.
Part part_of(std::size_t bytes, std::size_t element_bytes, std::size_t number, std::size_t parts) noexcept;

constexpr bool is_element(std::size_t bytes) noexcept { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

/// Compresses images. Owns its scratch memory (taken at construction), so one per thread; compress() does not allocate.
class Compressor {
 public:
  /// `element_bytes` is 1, 2, 4 or 8; throws ConfigError otherwise.
  explicit Compressor(std::size_t element_bytes);
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;
  ~Compressor();

  /// Writes the whole chunk, header included, to `out`, which has room for compressed_bound(). Returns its bytes; 0
  /// when `in` is not a whole number of elements or `out` is too small.
  std::size_t compress(std::span<const std::byte> in, std::span<std::byte> out) noexcept;
  /// The part's piece of the chunk; all pieces in order, each made by any Compressor, are the chunk of compress(). The
  /// first has the header. `out` has room for compressed_bound() of the part's bytes.
  std::size_t compress_part(std::span<const std::byte> in, Part part, std::span<std::byte> out) noexcept;

 private:
  struct State;
  std::size_t element_bytes_;
  std::unique_ptr<State> state_;
};

/// The uncompressed bytes that the header of `chunk` states; empty when the chunk is shorter than a header.
std::optional<std::uint64_t> uncompressed_bytes(std::span<const std::byte> chunk) noexcept;

/// Both directions on several threads: blocks of one image at a time. Calls from one thread at a time, which works,
/// too.
class ThreadedCodec {
 public:
  /// `threads` ≥ 1: those that work, the caller's included. Throws ConfigError as Compressor does, and ResourceError
  /// when a thread cannot be started.
  ThreadedCodec(std::size_t element_bytes, unsigned threads);
  ~ThreadedCodec();
  ThreadedCodec(const ThreadedCodec&) = delete;
  ThreadedCodec& operator=(const ThreadedCodec&) = delete;

  /// Makes the same bytes as Compressor::compress. Grows its scratch memory with the first image of a size.
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

/// Decompresses a chunk from an untrusted source. `out` must have exactly the bytes that the header states. False when
/// the chunk is truncated, too long, inconsistent or holds a bad LZ4 block; `out` is then undefined.
bool decompress(std::span<const std::byte> chunk, std::size_t element_bytes, std::span<std::byte> out);

}  // namespace rashpa::kernel::bitshuffle_lz4
