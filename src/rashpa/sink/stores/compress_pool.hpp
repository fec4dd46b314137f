// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/memory/team.hpp"

namespace rashpa::sink {

/// Compresses images on its own threads while the caller writes finished ones. The constructor takes all memory.
class CompressPool : private memory::Team::Work {
 public:
  /// Starts the threads. `threads` ≥ 1; images have `image_bytes` bytes with elements of `element_bytes` (1, 2, 4 or
  /// 8). Throws ResourceError when a thread cannot be started.
  CompressPool(unsigned threads, std::size_t element_bytes, std::size_t image_bytes);
  CompressPool(const CompressPool&) = delete;
  CompressPool& operator=(const CompressPool&) = delete;
  ~CompressPool() override = default;

  /// An image to compress. `may_change`: other writers may change it meanwhile, so it is compressed from a copy.
  struct Given {
    const std::byte* pixels = nullptr;
    bool may_change = false;
  };
  /// Returns true when the chunk of image i may be stored, because `read`, the bytes that were compressed, is the
  /// image. A thread of the pool calls it after the last read of the image.
  using Judge = std::function<bool(std::size_t i, const std::byte* read)>;
  /// Receives image i's chunk, an empty one when it was refused; called in order by the thread that called run().
  using Write = std::function<void(std::size_t i, std::span<const std::byte> chunk)>;
  /// Compresses `images`, and calls `judge` and then `write` for each. Returns when all are written. With fewer images
  /// than threads, all threads work on each image. Throws what `judge` or `write` throws, after the threads have
  /// stopped reading `images`; the pool stays usable.
  void run(std::span<const Given> images, const Judge& judge, const Write& write);

 private:
  struct Slot {
    std::vector<std::byte> chunk;
    std::vector<std::size_t> bytes;     // of its pieces
    std::unique_ptr<std::byte[]> copy;  // of an image that may change: pages that nobody touches cost nothing
    std::size_t done = 0;               // pieces
    bool judged = false;                // all pieces are done …
    bool good = false;                  // … and worth something
  };
  [[nodiscard]] const std::byte* compress(Slot& slot, const Given& image, std::size_t number, std::size_t parts,
                                          kernel::bitshuffle_lz4::Compressor& compressor) const;
  void join(Slot& slot, std::size_t parts) noexcept;
  [[nodiscard]] kernel::bitshuffle_lz4::Part part(std::size_t number, std::size_t parts) const noexcept;
  [[nodiscard]] std::size_t place_of(std::size_t number, std::size_t parts) const noexcept;
  void run(unsigned worker, std::uint32_t task) override;
  void claim_all(std::unique_lock<std::mutex>& lock, kernel::bitshuffle_lz4::Compressor& compressor);
  void write_all(const Write& write);
  void end();

  std::size_t element_bytes_;
  std::size_t image_bytes_;
  std::mutex mutex_;
  std::condition_variable claimable_;
  std::condition_variable finished_;
  // Guarded by the mutex. Image i uses slot i mod slots, so it may be claimed only while i < next_write_ + slots. A
  // claim is one part of an image.
  std::span<const Given> images_;
  const Judge* judge_ = nullptr;
  std::size_t parts_ = 1;  // of each image
  std::size_t next_claim_ = 0;
  std::size_t next_write_ = 0;
  bool failed_ = false;  // a thread: the images are not made
  std::vector<Slot> slots_;
  std::vector<kernel::bitshuffle_lz4::Compressor> compressors_;  // by thread
  memory::Team team_;                                            // last: its threads use all of the above
};

}  // namespace rashpa::sink
