// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "rashpa/link/arrivals/assembly.hpp"

namespace rashpa::link {

/// The part of the arrived packets that a link's thread has taken, as of its last report.
enum class Taken : std::uint8_t {
  some,     ///< more may have arrived
  a_queue,  ///< a queue's worth since its last report; more may have arrived since
  all,      ///< all arrived packets
};

/// The user's orders to a link about one DTP: release() and close() of the contract. Any thread writes them, the link's
/// thread reads them. Sequentially consistent, because links compare the orders with their own sleep flag. On a cache
/// line of its own.
struct alignas(64) Told {
  /// Raises the released index. Any thread.
  void release(std::uint64_t end) noexcept { raise(released, end); }
  void close(std::uint64_t end) noexcept { raise(closed, end); }

  /// Decides all images that the latest orders settle. A late image is given up only when the thread has taken all
  /// packets that arrived before the order. So a thread that did not run for a while reads its packets first. The
  /// link's thread calls it.
  void apply_to(Assembly& assembly, std::int64_t now, ArrivalOutput& out, Taken taken = Taken::all) noexcept {
    if (taken == Taken::some) return assembly.settle(released.load(std::memory_order_acquire), now, out);
    const std::uint64_t latest = closed.load(std::memory_order_acquire);
    close_at(assembly, taken == Taken::all ? latest : seen_, now, out);
    seen_ = latest;
  }
  /// Applies a value of `closed` that the thread read before it took packets for the last time.
  void close_at(Assembly& assembly, std::uint64_t end, std::int64_t now, ArrivalOutput& out) const noexcept {
    assembly.decide(end, released.load(std::memory_order_acquire), now, out);
  }
  /// Returns true when orders are new to the images, or when arrivals without room in `out` have room now. Nobody wakes
  /// the thread for the latter; it checks whenever it wakes. The link's thread calls it.
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

  std::atomic<std::uint64_t> released{0};  // seq_cst: the scheduler raises, the link's thread looks before it sleeps
  std::atomic<std::uint64_t> closed{0};

 private:
  static void raise(std::atomic<std::uint64_t>& word, std::uint64_t value) noexcept {
    // relaxed: any thread raises the word, and the exchange below looks again; seq_cst: the link's thread that then
    // looks before it sleeps sees the raised word, or the user's thread sees that it sleeps
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    while (seen < value && !word.compare_exchange_weak(seen, value, std::memory_order_seq_cst)) {
    }
  }
  std::uint64_t seen_ = 0;  // the link's thread: of `closed`, at the last look that was no Taken::some
};

}  // namespace rashpa::link
