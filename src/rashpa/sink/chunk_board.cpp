// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/chunk_board.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rashpa::sink {

Chunk::Chunk(std::span<const std::byte> chunk)
    : memory(std::make_unique_for_overwrite<std::byte[]>(chunk.size())), size(chunk.size()) {
  if (!chunk.empty()) std::memcpy(memory.get(), chunk.data(), chunk.size());
}

ChunkBoard::ChunkBoard(std::size_t images, unsigned takers) : takers_(takers), places_(images) {}

void ChunkBoard::offer(std::uint64_t index, std::span<const std::byte> chunk) {
  auto made = std::make_shared<Chunk>(chunk);
  {
    const std::lock_guard lock(mutex_);
    Place& place = places_[index % places_.size()];
    place.chunk.swap(made);
    place.index = index;
    place.left = takers_;
    passed_ = std::max(passed_, index + 1);
  }
  news_.notify_all();
}

void ChunkBoard::pass(std::uint64_t end) noexcept {
  {
    const std::lock_guard lock(mutex_);
    passed_ = std::max(passed_, end);
  }
  news_.notify_all();
}

ChunkRef ChunkBoard::take(std::uint64_t index) {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return passed_ > index; });
  Place& place = places_[index % places_.size()];
  if (place.index != index || place.left == 0) return nullptr;
  place.left -= 1;
  return place.left == 0 ? std::exchange(place.chunk, nullptr) : place.chunk;
}

}  // namespace rashpa::sink
