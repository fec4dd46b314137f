// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/log.hpp"

#include <algorithm>
#include <chrono>

#include "rashpa/core/time/clock.hpp"

namespace rashpa::log {
namespace {

/// A bounded queue for any number of writers and readers: each place has a ticket that says whose turn it is.
class Queue {
 public:
  Queue() noexcept {
    for (std::size_t i = 0; i < kRoom; ++i) places_[i].ticket.store(i, std::memory_order_relaxed);
  }
  template <typename Fill>
  bool push(Fill fill) noexcept {
    std::size_t at = write_.load(std::memory_order_relaxed);
    for (;;) {
      Place& place = places_[at % kRoom];
      const std::size_t ticket = place.ticket.load(std::memory_order_acquire);
      if (ticket == at) {
        if (!write_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        fill(place.entry);
        place.ticket.store(at + 1, std::memory_order_release);
        return true;
      }
      if (ticket < at) return false;  // full
      at = write_.load(std::memory_order_relaxed);
    }
  }
  bool pop(Entry& entry) noexcept {
    std::size_t at = read_.load(std::memory_order_relaxed);
    for (;;) {
      Place& place = places_[at % kRoom];
      const std::size_t ticket = place.ticket.load(std::memory_order_acquire);
      if (ticket == at + 1) {
        if (!read_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        entry = place.entry;
        place.ticket.store(at + kRoom, std::memory_order_release);
        return true;
      }
      if (ticket < at + 1) return false;  // empty
      at = read_.load(std::memory_order_relaxed);
    }
  }

 private:
  struct Place {
    std::atomic<std::size_t> ticket;  // acquire and release: a reader sees the entry that a writer has put there
    Entry entry;
  };
  std::array<Place, kRoom> places_{};
  alignas(64) std::atomic<std::size_t> write_{0};  // relaxed: writers and the reader take places; `ticket` orders
  alignas(64) std::atomic<std::size_t> read_{0};
};

Queue& queue() noexcept {
  static Queue all;
  return all;
}

std::atomic<Level> least{Level::info};  // relaxed: a setting that threads of nodes read when they log
std::atomic<std::uint64_t> lost{0};

/// Cuts at most `room` bytes of UTF-8 between two characters.
std::size_t whole_characters(const char* text, std::size_t length, std::size_t room) noexcept {
  if (length <= room) return length;
  while (room > 0 && (static_cast<unsigned char>(text[room]) & 0xC0U) == 0x80U) --room;
  return room;
}

}  // namespace

void set_level(Level level) noexcept { least.store(level, std::memory_order_relaxed); }
bool is_kept(Level level) noexcept { return level >= least.load(std::memory_order_relaxed); }

void add(Level level, const Where& where, fmt::string_view format, fmt::format_args values) noexcept {
  const bool found_room = queue().push([&](Entry& entry) {
    using namespace std::chrono;
    entry.time_ns = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
    entry.level = level;
    entry.run = where.run;
    entry.dtp = where.dtp;
    entry.frame = where.frame;
    entry.buffer_length = static_cast<std::uint8_t>(std::min(where.buffer.size(), entry.buffer_name.size()));
    std::copy_n(where.buffer.data(), entry.buffer_length, entry.buffer_name.data());
    try {
      // One more than there is room for, so that a character that is cut is seen.
      std::array<char, 401> text{};
      static_assert(sizeof text == sizeof entry.characters + 1);
      const auto end = fmt::vformat_to_n(text.data(), text.size(), format, values);
      const std::size_t length = std::min<std::size_t>(end.size, text.size());
      entry.length = static_cast<std::uint16_t>(whole_characters(text.data(), length, entry.characters.size()));
      std::copy_n(text.data(), entry.length, entry.characters.data());
    } catch (...) {  // a text that cannot be made is no reason to fail
      entry.length = 0;
    }
  });
  if (!found_room) lost.fetch_add(1, std::memory_order_relaxed);
}

bool take(Entry& entry) noexcept { return queue().pop(entry); }
std::uint64_t take_lost() noexcept { return lost.exchange(0, std::memory_order_relaxed); }

bool Limiter::admit(std::uint64_t& held_back) noexcept {
  const std::int64_t now = now_ns();
  std::int64_t next = next_ns_.load(std::memory_order_relaxed);
  if (now < next || !next_ns_.compare_exchange_strong(next, now + interval_ns_, std::memory_order_relaxed)) {
    held_back_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  held_back = held_back_.exchange(0, std::memory_order_relaxed);
  return true;
}

}  // namespace rashpa::log
