// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "rashpa/core/books.hpp"

namespace rashpa {

/// One byte per image of a run: written by one thread, read by any while the run goes on. Memory is taken once.
class CompletenessTable {
 public:
  explicit CompletenessTable(std::uint64_t images = 0)
      : states_(images > 0 ? std::make_unique<std::atomic<std::uint8_t>[]>(images) : nullptr), images_(images) {}

  void set(std::uint64_t image, Completeness state) noexcept {
    if (image < images_) states_[image].store(static_cast<std::uint8_t>(state), std::memory_order_release);
  }
  [[nodiscard]] Completeness get(std::uint64_t image) const noexcept {
    return image < images_ ? static_cast<Completeness>(states_[image].load(std::memory_order_acquire))
                           : Completeness::open;
  }
  [[nodiscard]] std::uint64_t images() const noexcept { return images_; }

 private:
  std::unique_ptr<std::atomic<std::uint8_t>[]> states_;
  std::uint64_t images_ = 0;
};

}  // namespace rashpa
