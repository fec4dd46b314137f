// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/core/system/cache_line.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::unit {

/// Holds the step on which each thread works, since when, and for which image. Each thread writes its own place, any
/// thread reads.
class StepWatch {
 public:
  /// The work of one thread. `image` and `frame` are those of the first image being processed; the time is monotonic.
  struct Doing {
    std::uint32_t step = 0;
    std::uint64_t image = 0;
    std::uint64_t frame = 0;
    std::int64_t since_ns = 0;
  };

 private:
  // Aligned: threads do not write beside each other.
  struct alignas(kCacheLine) Place {
    std::atomic<std::int64_t> since_ns{0};  // 0: nothing is done; release by the unit's thread, acquire by its watcher
    std::atomic<std::uint32_t> step{0};
    std::atomic<std::uint64_t> image{0};
    std::atomic<std::uint64_t> frame{0};
  };

 public:
  explicit StepWatch(std::size_t threads) : places_(threads) {}

  /// Marks thread number `thread` as working, during its own life.
  class Turn {
   public:
    Turn(StepWatch& watch, std::size_t thread, std::uint32_t step, std::uint64_t image, std::uint64_t frame) noexcept
        : place_(watch.places_[thread]) {
      place_.step.store(step, std::memory_order_relaxed);
      place_.image.store(image, std::memory_order_relaxed);
      place_.frame.store(frame, std::memory_order_relaxed);
      place_.since_ns.store(now_ns(), std::memory_order_release);
    }
    ~Turn() { place_.since_ns.store(0, std::memory_order_release); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Place& place_;
  };

  /// Returns the unfinished work that began first; nothing: no thread works.
  [[nodiscard]] std::optional<Doing> longest() const noexcept {
    std::optional<Doing> found;
    for (const Place& place : places_) {
      const std::int64_t since = place.since_ns.load(std::memory_order_acquire);
      if (since == 0 || (found && found->since_ns <= since)) continue;
      const Doing doing{.step = place.step.load(std::memory_order_relaxed),
                        .image = place.image.load(std::memory_order_relaxed),
                        .frame = place.frame.load(std::memory_order_relaxed),
                        .since_ns = since};
      // the step that was begun meanwhile is not the one that lasts long
      std::atomic_thread_fence(std::memory_order_acquire);  // acquire: the three before `since_ns`, again
      if (place.since_ns.load(std::memory_order_relaxed) == since) found = doing;
    }
    return found;
  }

 private:
  std::vector<Place> places_;
};

}  // namespace rashpa::unit
