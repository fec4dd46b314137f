// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

#include "rashpa/core/books/page_array.hpp"

namespace rashpa::receiver {

/// The fate of an image at one sink.
enum class Fate : std::uint8_t {
  none,     ///< the sink was not to keep it, or has not got it yet
  waiting,  ///< in the sink's queue, or being stored
  kept,     ///< stored by the sink
  dropped,  ///< never passed to the sink, or the sink had no consumer for it
  lost,
};

/// The fates of all images of a run at one sink. The first call settles a fate, once. Any thread.
class ImageFates {
 public:
  /// Reserves room for `images` fates. Throws ResourceError when the process has too few addresses left.
  explicit ImageFates(std::uint64_t images) : fates_(images) {}

  /// Records that the sink must keep the image.
  void offer(std::uint64_t index) noexcept {
    if (index < fates_.size()) fates_[index].store(Fate::waiting, std::memory_order_release);
  }
  /// Settles the fate of an image. Returns false when it is settled already, or was never offered. A kept image may
  /// still be lost: the sink detects that at its end.
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
