// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "rashpa/link/assembly.hpp"

namespace rashpa::link {

/// What a link's user has told it of one DTP (release() and close() of the contract): any thread writes, the link's
/// thread reads. On a cache line of its own. Sequentially consistent, because links compare the words with a flag of
/// theirs that says whether they sleep.
struct alignas(64) Told {
  /// Any thread.
  void release(std::uint64_t end) noexcept { raise(released, end); }
  void close(std::uint64_t end) noexcept { raise(closed, end); }

  /// The link's thread: decides what can be decided by the latest words.
  void apply_to(Assembly& assembly, std::int64_t now, ArrivalOutput& out) const noexcept {
    assembly.decide(closed.load(std::memory_order_acquire), released.load(std::memory_order_acquire), now, out);
  }
  /// The link's thread: true when they say something that the images have not been told yet, or those that found no
  /// room in `out` do so now. Nobody wakes the thread for the latter: it looks when it wakes anyway.
  [[nodiscard]] bool news_for(const Assembly& assembly, ArrivalOutput& out) const noexcept {
    const std::uint64_t decided = assembly.undecided();
    if (assembly.held_up()) {
      if (out.ready(assembly.list_index())) return true;
    } else if (closed.load(std::memory_order_seq_cst) > decided && !assembly.finished()) {
      return true;
    }
    const std::uint64_t ended = std::min(released.load(std::memory_order_seq_cst), decided);
    return ended + assembly.dtp().placement.slots > assembly.granted();
  }

  std::atomic<std::uint64_t> released{0};
  std::atomic<std::uint64_t> closed{0};

 private:
  static void raise(std::atomic<std::uint64_t>& word, std::uint64_t value) noexcept {
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    while (seen < value && !word.compare_exchange_weak(seen, value, std::memory_order_seq_cst)) {
    }
  }
};

}  // namespace rashpa::link
