// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Shares compressed images between sinks: the sink that stores an image compresses it once, for those that send it.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rashpa::sink {

/// The compressed chunk of an image (kernel bitshuffle_lz4).
struct Chunk {
  explicit Chunk(std::span<const std::byte> chunk);
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {memory.get(), size}; }
  std::unique_ptr<std::byte[]> memory;
  std::size_t size = 0;
};
using ChunkRef = std::shared_ptr<Chunk>;

/// Passes chunks from the one sink that makes them, in the order of images, to others. Takers may wait for the maker,
/// but never the maker for takers: a chunk that is not taken is overwritten.
class ChunkBoard {
 public:
  /// Keeps `images` chunks: as many images as the ring of stacks has, so that none is overwritten while a taker holds
  /// the image's slot. `takers` is the number of threads that take each chunk.
  ChunkBoard(std::size_t images, unsigned takers);

  // From the maker's thread.

  /// Offers the chunk of an image; it is copied.
  void offer(std::uint64_t index, std::span<const std::byte> chunk);
  /// Records that no more chunks come for images before `end`. Always called, whatever their fate, so that no thread
  /// waits in vain.
  void pass(std::uint64_t end) noexcept;

  // From any thread.

  /// Waits for the chunk of an image and returns it. Null: none was offered, or it is gone; the taker must then make
  /// its own.
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
