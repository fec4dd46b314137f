// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The counters of links: each registers its own counters by name, and a display takes all of them. The names are
/// those of telegrams, reports and metrics; docs/explanations/links.md says what they mean.
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rashpa::link {

/// A count that one thread writes and any thread reads; no bus lock.
class Counter {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};  // relaxed: one link thread counts, a status reads
};

/// Values by name, as they were at the call. Owned by the caller; one thread. Names are literals.
class Counts {
 public:
  using Named = std::pair<std::string_view, std::uint64_t>;
  /// Adds to the value of that name; a name that is new comes last.
  void add(std::string_view name, std::uint64_t value);
  /// 0 for a name that nobody counts.
  [[nodiscard]] std::uint64_t operator[](std::string_view name) const noexcept;
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }
  friend bool operator==(const Counts&, const Counts&) = default;

 private:
  std::vector<Named> all_;
};

/// The named counters of one thread or one sender: the base of a struct of NamedCounter. Not movable, as its members
/// know where it is.
class CounterList {
 public:
  CounterList() = default;
  CounterList(const CounterList&) = delete;
  CounterList& operator=(const CounterList&) = delete;
  /// Any thread: adds all values to those in `sum`.
  void add_to(Counts& sum) const {
    for (const auto& [name, counter] : counters_) sum.add(name, counter->get());
  }

 protected:
  ~CounterList() = default;

 private:
  friend class NamedCounter;
  std::vector<std::pair<std::string_view, const Counter*>> counters_;
};

/// A counter that is part of a list for its whole life: `NamedCounter packets{*this, "packets"};`.
class NamedCounter : public Counter {
 public:
  NamedCounter(CounterList& list, std::string_view name) { list.counters_.emplace_back(name, this); }
  NamedCounter(const NamedCounter&) = delete;
  NamedCounter& operator=(const NamedCounter&) = delete;
};

/// The counters of each receiving link, one set a thread. A link with more to say derives from it.
struct ReceiverCounters : CounterList {
  NamedCounter packets{*this, "packets"};
  NamedCounter payload_bytes{*this,
                             "payload_bytes"};     ///< accepted; of links that see events: those that events announce
  NamedCounter events{*this, "events"};            ///< accepted
  NamedCounter skip_events{*this, "skip_events"};  ///< by which the source says that it has left images out
  NamedCounter duplicate_packets{*this, "duplicate_packets"};  ///< lines that had already arrived, events of images
                                                               ///< already decided; of rc: packets already executed
  NamedCounter late_packets{*this, "late_packets"};        ///< for an image already decided; the slot was not touched
  NamedCounter overrun_packets{*this, "overrun_packets"};  ///< for a slot that was not free
  NamedCounter refused_key{*this, "refused_key"};          ///< wrong key or out of bounds
  NamedCounter refused_alignment{*this, "refused_alignment"};  ///< good key and place, but not on the line map's units
  NamedCounter bad_records{*this, "bad_records"};              ///< event payloads that are no frame record of this run
  NamedCounter crc_mismatches{*this, "crc_mismatches"};        ///< images whose CRC32C differs from the record's
};

/// The counters of each sender.
struct SenderCounters : CounterList {
  NamedCounter messages{*this, "messages"};
  NamedCounter packets{*this, "packets"};
  NamedCounter payload_bytes{*this, "payload_bytes"};
  NamedCounter waits{*this, "waits"};                      ///< times the window or the queue was full
  NamedCounter window_timeouts{*this, "window_timeouts"};  ///< times the window was reopened without news
  NamedCounter send_errors{*this, "send_errors"};  ///< writes and events refused for good: lost, as if on the wire; of
                                                   ///< a connection in error: its lost images
  NamedCounter credits_refused{*this, "credits_refused"};  ///< words that cannot be credits (credit_bound.hpp), and
                                                           ///< other packets that came to their place
};

}  // namespace rashpa::link
