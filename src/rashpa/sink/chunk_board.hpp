// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An image is compressed once: the sink that stores it hands its chunk to those that send it.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rashpa::sink {

/// The chunk of an image (kernel bitshuffle_lz4).
struct Chunk {
  explicit Chunk(std::span<const std::byte> chunk);
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {memory.get(), size}; }
  std::unique_ptr<std::byte[]> memory;
  std::size_t size = 0;
};
using ChunkRef = std::shared_ptr<Chunk>;

/// Chunks on their way from one sink that makes them, in the order of images, to others. Takers may wait for the maker,
/// never the other way round: a chunk that nobody fetches is written over.
class ChunkBoard {
 public:
  /// `images`: chunks that are kept; as many as the ring of stacks holds images, so that none is written over while a
  /// taker holds the image's slot. `takers`: the number of threads that fetch each of them.
  ChunkBoard(std::size_t images, unsigned takers);

  // From the maker's thread.

  /// The chunk of an image; it is copied.
  void offer(std::uint64_t index, std::span<const std::byte> chunk);
  /// Tells that no chunk comes any more for images before `end`. It is called whatever became of them, so that no
  /// thread waits in vain.
  void pass(std::uint64_t end) noexcept;

  // From any thread.

  /// The chunk of an image, once it is offered. Null: it was not, or is not there any more; a taker that wants it makes
  /// it.
  [[nodiscard]] ChunkRef take(std::uint64_t index);

 private:
  struct Place {
    ChunkRef chunk;
    std::uint64_t index = 0;
    unsigned left = 0;  // takers
  };
  unsigned takers_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::uint64_t passed_ = 0;  // images before have been offered, or will not be
  std::vector<Place> places_;
};

}  // namespace rashpa::sink
