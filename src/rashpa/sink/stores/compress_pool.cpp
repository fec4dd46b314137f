// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stores/compress_pool.hpp"

#include <cstring>
#include <utility>

namespace rashpa::sink {

namespace bslz4 = kernel::bitshuffle_lz4;

CompressPool::CompressPool(unsigned threads, std::size_t element_bytes, std::size_t image_bytes)
    : element_bytes_(element_bytes),
      image_bytes_(image_bytes),
      slots_(2 * std::size_t{threads}),
      team_(threads, -1, "sink") {
  for (Slot& slot : slots_) {
    slot.chunk.resize(place_of(threads, threads));
    slot.bytes.resize(threads);
    slot.copy = std::make_unique_for_overwrite<std::byte[]>(image_bytes);
  }
  for (unsigned i = 0; i < threads; ++i) compressors_.emplace_back(element_bytes);
}

bslz4::Part CompressPool::part(std::size_t number, std::size_t parts) const noexcept {
  return bslz4::part_of(image_bytes_, element_bytes_, number, parts);
}

/// Returns where the piece of a part begins in its slot, until all are joined.
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

// A task a thread: as many claims as it gets.
void CompressPool::run(unsigned worker, std::uint32_t /*task*/) {
  std::unique_lock lock(mutex_);
  try {
    claim_all(lock, compressors_[worker]);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    failed_ = true;
    claimable_.notify_all();
    finished_.notify_one();
    throw;
  }
}

void CompressPool::claim_all(std::unique_lock<std::mutex>& lock, bslz4::Compressor& compressor) {
  for (;;) {
    const auto none_left = [this] { return failed_ || next_claim_ >= images_.size() * parts_; };
    claimable_.wait(lock, [&] { return none_left() || next_claim_ / parts_ < next_write_ + slots_.size(); });
    if (none_left()) return;
    const std::size_t i = next_claim_ / parts_, number = next_claim_ % parts_;
    ++next_claim_;
    Slot& slot = slots_[i % slots_.size()];
    const Given image = images_[i];
    lock.unlock();
    const std::byte* read = compress(slot, image, number, parts_, compressor);
    lock.lock();
    if (++slot.done < parts_) continue;
    lock.unlock();
    slot.good = (*judge_)(i, read);
    lock.lock();
    slot.judged = true;
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
  if (images.empty()) return;
  images_ = images;
  judge_ = &judge;
  parts_ = images.size() < team_.threads() ? team_.threads() : 1;
  next_claim_ = 0;
  next_write_ = 0;
  team_.publish(*this, team_.threads());
  try {
    write_all(write);
  } catch (...) {
    end();
    throw;
  }
  end();
}

void CompressPool::write_all(const Write& write) {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < images_.size(); ++i) {
    Slot& slot = slots_[i % slots_.size()];
    finished_.wait(lock, [&] { return slot.judged || failed_; });
    if (failed_) return;
    lock.unlock();
    join(slot, parts_);
    write(i, std::span<const std::byte>(slot.chunk).first(slot.good ? slot.bytes[0] : 0));
    lock.lock();
    slot.done = 0;
    slot.judged = false;
    next_write_ = i + 1;
    claimable_.notify_all();
  }
}

// Nothing more is claimed; images in the making are waited for, and forgotten. Throws what a thread has thrown.
void CompressPool::end() {
  {
    const std::lock_guard lock(mutex_);
    next_claim_ = images_.size() * parts_;
  }
  claimable_.notify_all();
  const auto forget = [this]() noexcept {
    failed_ = false;
    for (Slot& slot : slots_) {
      slot.done = 0;
      slot.judged = false;
    }
  };
  try {
    team_.wait();
  } catch (...) {
    forget();
    throw;
  }
  forget();
}

}  // namespace rashpa::sink
