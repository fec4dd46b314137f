// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/last_word.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/cuda/word/begun.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit::cuda {

/// The memory that a device needs to begin stacks by last words: lock words and records of the source, pinned where
/// they are the host's; their places in device memory; and the words by which the device tells why stacks have begun.
class WordMemory {
 public:
  /// Throws ResourceError where memory cannot be pinned or taken.
  explicit WordMemory(const Layout& layout)
      : dtps_(static_cast<std::uint32_t>(layout.last_words.size())),
        words_(layout.last_words.size() * sizeof(LastWord)),
        starts_(layout.stacks * sizeof(Start)) {
    for (const LastWord& one : layout.last_words) {
      if (one.block != nullptr) {
        pinned_.push_back(std::make_unique<memory::cuda::Pinning>(one.block, one.block_bytes));
      }
      pinned_.push_back(
          std::make_unique<memory::cuda::Pinning>(one.records, std::size_t{one.slots} * FrameRecord::kBytes));
    }
    memory::cuda::check(cudaMemcpy(words_.as<void>(), layout.last_words.data(),
                                   layout.last_words.size() * sizeof(LastWord), cudaMemcpyHostToDevice),
                        "copy the places of last words");
  }
  /// Returns the places, in device memory.
  [[nodiscard]] const LastWord* words() const noexcept { return words_.as<LastWord>(); }
  [[nodiscard]] std::uint32_t dtps() const noexcept { return dtps_; }
  /// Returns the device's answers in pinned memory, one for each stack of the ring.
  [[nodiscard]] Start* starts() const noexcept { return starts_.as<Start>(); }
  [[nodiscard]] Begun begun(std::uint32_t slot, std::uint32_t ticket) const noexcept {
    // acquire: the device stored it before the ticket of the results
    return cuda::begun(std::atomic_ref(starts()[slot].value).load(std::memory_order_acquire), ticket);
  }

 private:
  std::uint32_t dtps_;
  memory::cuda::DeviceMemory words_;
  memory::cuda::PinnedMemory starts_;
  std::vector<std::unique_ptr<memory::cuda::Pinning>> pinned_;
};

}  // namespace rashpa::unit::cuda
