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
  /// `threads` ≥ 1; images of `image_bytes` bytes with elements of `element_bytes` (1, 2 or 4).
  CompressPool(unsigned threads, std::size_t element_bytes, std::size_t image_bytes);
  CompressPool(const CompressPool&) = delete;
  CompressPool& operator=(const CompressPool&) = delete;
  ~CompressPool();

  /// Receives image i's chunk; called in order, on the thread that called run(). Must not throw.
  using Write = std::function<void(std::size_t i, std::span<const std::byte> chunk)>;
  /// Compresses `images` and hands each to `write`. Returns when all are written.
  void run(std::span<const std::byte* const> images, const Write& write);

 private:
  struct Slot {
    std::vector<std::byte> chunk;
    std::size_t bytes = 0;
    bool done = false;
  };
  void work(kernel::bitshuffle_lz4::Compressor compressor);

  std::size_t image_bytes_;
  std::mutex mutex_;
  std::condition_variable claimable_;
  std::condition_variable finished_;
  // Guarded by the mutex. Image i uses slot i mod slots, so it may be claimed only while i < next_write_ + slots.
  std::span<const std::byte* const> images_;
  std::size_t next_claim_ = 0;
  std::size_t next_write_ = 0;
  std::vector<Slot> slots_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace rashpa::sink
