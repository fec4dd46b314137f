// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/compress_pool.hpp"

#include <string>
#include <utility>

#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::sink {

namespace bslz4 = kernel::bitshuffle_lz4;

CompressPool::CompressPool(unsigned threads, std::size_t element_bytes, std::size_t image_bytes)
    : image_bytes_(image_bytes), slots_(2 * std::size_t{threads}) {
  for (Slot& slot : slots_) slot.chunk.resize(bslz4::compressed_bound(image_bytes, element_bytes));
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this, i, compressor = bslz4::Compressor(element_bytes)]() mutable {
      memory::place_this_thread("sink-" + std::to_string(i), -1);
      work(std::move(compressor));
    });
  }
}

CompressPool::~CompressPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  claimable_.notify_all();
}

void CompressPool::work(bslz4::Compressor compressor) {
  std::unique_lock lock(mutex_);
  for (;;) {
    claimable_.wait(
        lock, [this] { return stop_ || (next_claim_ < images_.size() && next_claim_ < next_write_ + slots_.size()); });
    if (stop_) return;
    const std::size_t i = next_claim_++;
    Slot& slot = slots_[i % slots_.size()];
    const std::span image(images_[i], image_bytes_);
    lock.unlock();
    slot.bytes = compressor.compress(image, slot.chunk);
    lock.lock();
    slot.done = true;
    finished_.notify_one();
  }
}

void CompressPool::run(std::span<const std::byte* const> images, const Write& write) {
  std::unique_lock lock(mutex_);
  images_ = images;
  next_claim_ = 0;
  next_write_ = 0;
  claimable_.notify_all();
  for (std::size_t i = 0; i < images.size(); ++i) {
    Slot& slot = slots_[i % slots_.size()];
    finished_.wait(lock, [&slot] { return slot.done; });
    lock.unlock();
    write(i, std::span<const std::byte>(slot.chunk).first(slot.bytes));
    lock.lock();
    slot.done = false;
    next_write_ = i + 1;
    claimable_.notify_one();
  }
  images_ = {};
}

}  // namespace rashpa::sink
