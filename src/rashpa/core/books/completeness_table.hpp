// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

#include "rashpa/core/books/books.hpp"
#include "rashpa/core/books/page_array.hpp"

namespace rashpa {

/// The completeness of each image of a run, one byte each. One thread writes it; any thread may read it during the run.
class CompletenessTable {
 public:
  explicit CompletenessTable(std::uint64_t images = 0) : states_(images) {}

  void set(std::uint64_t image, Completeness state) noexcept {
    if (image < images()) states_[image].store(static_cast<std::uint8_t>(state), std::memory_order_release);
  }
  [[nodiscard]] Completeness get(std::uint64_t image) const noexcept {
    return image < images() ? static_cast<Completeness>(states_[image].load(std::memory_order_acquire))
                            : Completeness::open;
  }
  [[nodiscard]] std::uint64_t images() const noexcept { return states_.size(); }

 private:
  PageArray<std::uint8_t> states_;  // release by the thread that settles, acquire by readers of the books
};

}  // namespace rashpa
