// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

#include "rashpa/core/books/page_array.hpp"

namespace rashpa::receiver {

/// An image at one sink.
enum class Fate : std::uint8_t {
  none,     ///< the sink was not to keep it, or does not know of it yet
  waiting,  ///< in its queue, or with it
  kept,     ///< the sink has answered for it
  dropped,  ///< never handed to it, or it had nobody for it
  lost,
};

/// The fates of all images of a run at one sink: each is settled once, by the first caller. Any thread.
class ImageFates {
 public:
  /// Throws ResourceError when the process has too few addresses left.
  explicit ImageFates(std::uint64_t images) : fates_(images) {}

  /// The sink is to keep the image.
  void offer(std::uint64_t index) noexcept {
    if (index < fates_.size()) fates_[index].store(Fate::waiting, std::memory_order_release);
  }
  /// Returns false when it is settled already, or was never offered. An image that was kept may be lost all the same:
  /// the sink finds so when it ends.
  [[nodiscard]] bool settle(std::uint64_t index, Fate to) noexcept {
    if (index >= fates_.size()) return false;
    const auto fate = fates_[index];
    // acquire and acq_rel: the sink's thread and a watcher settle; the second sees the fate, and all before it, of the
    // first
    Fate from = fate.load(std::memory_order_acquire);
    while (from == Fate::waiting || (from == Fate::kept && to == Fate::lost)) {
      if (fate.compare_exchange_weak(from, to, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  [[nodiscard]] Fate of(std::uint64_t index) const noexcept {
    return index < fates_.size() ? fates_[index].load(std::memory_order_acquire) : Fate::none;
  }

 private:
  PageArray<Fate> fates_;  // acq_rel: the sink's thread and a watcher settle an image once
};

}  // namespace rashpa::receiver
