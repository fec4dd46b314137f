// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

namespace rashpa::sink {

/// Compresses images on threads of its own while the caller writes those that are done. All memory is taken at
/// construction.
class CompressPool {
 public:
  /// `threads` ≥ 1; images of `image_bytes` bytes with elements of `element_bytes` (1, 2, 4 or 8).
  CompressPool(unsigned threads, std::size_t element_bytes, std::size_t image_bytes);
  CompressPool(const CompressPool&) = delete;
  CompressPool& operator=(const CompressPool&) = delete;
  ~CompressPool();

  /// Receives image i's chunk; called in order, on the thread that called run().
  using Write = std::function<void(std::size_t i, std::span<const std::byte> chunk)>;
  /// Compresses `images` and hands each to `write`. Returns when all are written. Fewer images than threads: all
  /// threads work on each of them. Throws what `write` throws, after the threads have left `images` alone; the pool
  /// can be used again then.
  void run(std::span<const std::byte* const> images, const Write& write);

 private:
  struct Slot {
    std::vector<std::byte> chunk;
    std::vector<std::size_t> bytes;  // of its pieces
    std::size_t done = 0;            // pieces
  };
  void join(Slot& slot, std::size_t parts) noexcept;
  [[nodiscard]] kernel::bitshuffle_lz4::Part part(std::size_t number, std::size_t parts) const noexcept;
  [[nodiscard]] std::size_t place_of(std::size_t number, std::size_t parts) const noexcept;
  void work(kernel::bitshuffle_lz4::Compressor compressor);
  void write_all(std::unique_lock<std::mutex>& lock, const Write& write);
  void give_up(std::unique_lock<std::mutex>& lock) noexcept;

  std::size_t element_bytes_;
  std::size_t image_bytes_;
  std::mutex mutex_;
  std::condition_variable claimable_;
  std::condition_variable finished_;
  // Guarded by the mutex. Image i uses slot i mod slots, so it may be claimed only while i < next_write_ + slots. A
  // claim is one part of an image.
  std::span<const std::byte* const> images_;
  std::size_t parts_ = 1;  // of each image
  std::size_t next_claim_ = 0;
  std::size_t next_write_ = 0;
  std::size_t working_ = 0;  // claims that are not done
  std::vector<Slot> slots_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace rashpa::sink
