// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A device that works when the test allows it, for tests of an engine with a device.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "rashpa/link/pcie/copy_engine.hpp"

namespace rashpa::link::pcie::testing {

struct Mark {
  std::uint64_t number = 0;
  std::optional<std::array<std::byte, FrameRecord::kBytes>> record;
  std::uint64_t destination = 0;
  std::uint32_t immediate = 0;
  std::atomic<std::uint32_t>* lock = nullptr;
};

/// The open orders of a device, and its fault; shared with the test.
struct Desk {
  std::span<std::byte> memory;
  std::span<std::byte> records;  // where they go, unless into `memory`
  std::mutex mutex;
  std::deque<std::variant<Rectangle, Mark>> todo;
  std::vector<Rectangle> copies;  // all that were told
  std::size_t marks = 0;
  std::atomic<std::uint64_t> reached{0};  // release by the engine's thread, acquire by the source: lines are written
  std::atomic<bool> broken{false};        // whatever it is told now is refused
  std::atomic<bool> lost{false};          // it does nothing any more, and says so when it is asked
  std::atomic<std::size_t> most_todo{0};
  std::size_t may_wait = 0;  // looks in which it was told that more may come
  std::size_t shall_begin = 0;

  /// Carries out the next `count` orders; returns how many were left.
  std::size_t work(std::size_t count = ~std::size_t{0}) {
    while (count-- != 0) {
      std::variant<Rectangle, Mark> next;
      {
        const std::lock_guard lock(mutex);
        if (todo.empty() || lost) return todo.size();
        next = todo.front();
      }
      if (const auto* all = std::get_if<Rectangle>(&next)) {
        for (std::uint32_t row = 0; row < all->rows; ++row) {
          std::memcpy(memory.data() + all->destination + row * all->destination_stride,
                      all->source + row * all->source_stride, all->width);
        }
      } else {
        const Mark& mark = std::get<Mark>(next);
        if (mark.record) {
          std::byte* const to = records.empty() ? memory.data() : records.data();
          std::memcpy(to + mark.destination, mark.record->data(), mark.record->size());
          mark.lock->store(mark.immediate, std::memory_order_seq_cst);
        }
        reached.store(mark.number, std::memory_order_release);
      }
      const std::lock_guard lock(mutex);
      todo.pop_front();
    }
    const std::lock_guard lock(mutex);
    return todo.size();
  }
  void tell(const std::variant<Rectangle, Mark>& one) {
    const std::lock_guard lock(mutex);
    todo.push_back(one);
    most_todo = std::max(most_todo.load(), todo.size());
  }
};

class FakeDevice final : public CopyDevice {
 public:
  explicit FakeDevice(Desk& desk) : desk_(&desk) {}
  bool copy(const Rectangle& rectangle) noexcept override {
    if (desk_->broken) return false;
    desk_->copies.push_back(rectangle);
    desk_->tell(rectangle);
    return true;
  }
  bool mark(std::uint64_t number, const Event* event, std::atomic<std::uint32_t>* lock) noexcept override {
    if (desk_->broken) return false;
    Mark mark;
    mark.number = number;
    if (event != nullptr) {
      mark.record.emplace();
      std::memcpy(mark.record->data(), event->record, FrameRecord::kBytes);
      mark.destination = event->destination;
      mark.immediate = event->immediate;
      mark.lock = lock;
    }
    ++desk_->marks;
    desk_->tell(mark);
    return true;
  }
  bool go_on(Company company) noexcept override {
    ++(company == Company::none ? desk_->shall_begin : desk_->may_wait);
    return !desk_->broken;
  }
  [[nodiscard]] std::uint64_t reached() const noexcept override {
    return desk_->reached.load(std::memory_order_acquire);
  }
  bool sound() noexcept override { return !desk_->lost; }

 private:
  Desk* desk_;
};

}  // namespace rashpa::link::pcie::testing
