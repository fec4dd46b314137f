// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stores/compress_pool.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::sink {

namespace bslz4 = kernel::bitshuffle_lz4;

CompressPool::CompressPool(unsigned threads, std::size_t element_bytes, std::size_t image_bytes)
    : element_bytes_(element_bytes), image_bytes_(image_bytes), slots_(2 * std::size_t{threads}) {
  for (Slot& slot : slots_) {
    slot.chunk.resize(place_of(threads, threads));
    slot.bytes.resize(threads);
    slot.copy = std::make_unique_for_overwrite<std::byte[]>(image_bytes);
  }
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

bslz4::Part CompressPool::part(std::size_t number, std::size_t parts) const noexcept {
  return bslz4::part_of(image_bytes_, element_bytes_, number, parts);
}

/// Where the piece of a part begins in its slot, until all are joined.
std::size_t CompressPool::place_of(std::size_t number, std::size_t parts) const noexcept {
  std::size_t place = 0;
  for (std::size_t before = 0; before < number; ++before) {
    const bslz4::Part one = part(before, parts);
    place += bslz4::compressed_bound(one.last - one.first, element_bytes_);
  }
  return place;
}

// A part of an image into its place; says where it was read.
const std::byte* CompressPool::compress(Slot& slot, const Given& image, std::size_t number, std::size_t parts,
                                        bslz4::Compressor& compressor) const {
  const std::byte* read = image.pixels;
  const bslz4::Part one = part(number, parts);
  if (image.may_change) {
    std::memcpy(slot.copy.get() + one.first, image.pixels + one.first, one.last - one.first);
    read = slot.copy.get();
  }
  slot.bytes[number] =
      compressor.compress_part({read, image_bytes_}, one, std::span(slot.chunk).subspan(place_of(number, parts)));
  return read;
}

void CompressPool::work(bslz4::Compressor compressor) {
  std::unique_lock lock(mutex_);
  for (;;) {
    claimable_.wait(lock, [this] {
      return stop_ || (next_claim_ < images_.size() * parts_ && next_claim_ / parts_ < next_write_ + slots_.size());
    });
    if (stop_) return;
    const std::size_t parts = parts_;
    const std::size_t i = next_claim_ / parts, number = next_claim_ % parts;
    ++next_claim_;
    ++working_;
    Slot& slot = slots_[i % slots_.size()];
    const Given image = images_[i];
    const Judge& judge = *judge_;
    lock.unlock();
    const std::byte* read = compress(slot, image, number, parts, compressor);
    lock.lock();
    if (++slot.done == parts) {
      lock.unlock();
      slot.good = judge(i, read);
      lock.lock();
      slot.judged = true;
    }
    --working_;
    finished_.notify_one();
  }
}

/// The pieces of a chunk, one behind the other.
void CompressPool::join(Slot& slot, std::size_t parts) noexcept {
  std::size_t end = slot.bytes[0];
  for (std::size_t number = 1; number < parts; ++number) {
    std::memmove(slot.chunk.data() + end, slot.chunk.data() + place_of(number, parts), slot.bytes[number]);
    end += slot.bytes[number];
  }
  slot.bytes[0] = end;
}

void CompressPool::run(std::span<const Given> images, const Judge& judge, const Write& write) {
  std::unique_lock lock(mutex_);
  images_ = images;
  judge_ = &judge;
  parts_ = images.size() < threads_.size() ? threads_.size() : 1;
  next_claim_ = 0;
  next_write_ = 0;
  claimable_.notify_all();
  try {
    write_all(lock, write);
  } catch (...) {
    give_up(lock);
    throw;
  }
  images_ = {};
}

// Holds the lock when it returns or throws.
void CompressPool::write_all(std::unique_lock<std::mutex>& lock, const Write& write) {
  for (std::size_t i = 0; i < images_.size(); ++i) {
    Slot& slot = slots_[i % slots_.size()];
    finished_.wait(lock, [&slot] { return slot.judged; });
    lock.unlock();
    join(slot, parts_);
    try {
      write(i, std::span<const std::byte>(slot.chunk).first(slot.good ? slot.bytes[0] : 0));
    } catch (...) {
      lock.lock();
      throw;
    }
    lock.lock();
    slot.done = 0;
    slot.judged = false;
    next_write_ = i + 1;
    claimable_.notify_all();
  }
}

// Nothing more is claimed; what is being made is waited for, and forgotten.
void CompressPool::give_up(std::unique_lock<std::mutex>& lock) noexcept {
  images_ = {};
  finished_.wait(lock, [this] { return working_ == 0; });
  for (Slot& slot : slots_) {
    slot.done = 0;
    slot.judged = false;
  }
}

}  // namespace rashpa::sink
