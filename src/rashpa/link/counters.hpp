// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The counters of links. Each link registers its own by name, and displays show all of them. The names are those of
/// telegrams, reports and metrics; docs/explanations/links.md explains them.
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rashpa::link {

/// A count that one thread writes and any thread reads, without a locked bus cycle.
class Counter {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};  // relaxed: one link thread counts, a status reads
};

/// Values by name at the time of a call. The caller owns them; one thread. Names are string literals.
class Counts {
 public:
  using Named = std::pair<std::string_view, std::uint64_t>;
  /// Adds to the value of that name; a new name is appended.
  void add(std::string_view name, std::uint64_t value);
  /// Returns the value of that name; 0 when it is absent.
  [[nodiscard]] std::uint64_t operator[](std::string_view name) const noexcept;
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }
  friend bool operator==(const Counts&, const Counts&) = default;

 private:
  std::vector<Named> all_;
};

/// The named counters of one thread or one sender, the base of a struct of NamedCounter members. Not movable, because
/// the members know its address.
class CounterList {
 public:
  CounterList() = default;
  CounterList(const CounterList&) = delete;
  CounterList& operator=(const CounterList&) = delete;
  /// Adds all values to those in `sum`. Any thread.
  void add_to(Counts& sum) const {
    for (const auto& [name, counter] : counters_) sum.add(name, counter->get());
  }

 protected:
  ~CounterList() = default;

 private:
  friend class NamedCounter;
  std::vector<std::pair<std::string_view, const Counter*>> counters_;
};

/// A counter that belongs to a list during its whole life: `NamedCounter packets{*this, "packets"};`.
class NamedCounter : public Counter {
 public:
  NamedCounter(CounterList& list, std::string_view name) { list.counters_.emplace_back(name, this); }
  NamedCounter(const NamedCounter&) = delete;
  NamedCounter& operator=(const NamedCounter&) = delete;
};

/// The counters that all receiving links have, one set for each thread. A link with more counters derives from it.
struct ReceiverCounters : CounterList {
  NamedCounter packets{*this, "packets"};
  NamedCounter payload_bytes{*this,
                             /// accepted; for links that see only events, the bytes that events announce
                             "payload_bytes"};
  NamedCounter events{*this, "events"};            ///< accepted
  NamedCounter part_events{*this, "part_events"};  ///< of parts that are not the last of their image
  NamedCounter lost_parts{*this,
                          "lost_parts"};  ///< such events that did not come, of decided images of which anything did
  NamedCounter skip_events{*this, "skip_events"};  ///< events by which the source reports skipped images
  /// lines that had already arrived and events of decided images; for rc: packets already executed
  NamedCounter duplicate_packets{*this, "duplicate_packets"};
  NamedCounter late_packets{*this, "late_packets"};  ///< packets for an image already decided; its slot was not touched
  NamedCounter overrun_packets{*this, "overrun_packets"};  ///< packets for a slot that was not free
  NamedCounter refused_key{*this, "refused_key"};          ///< packets with a wrong key or out of bounds
  /// packets with a correct key and place, but not on units of the line map
  NamedCounter refused_alignment{*this, "refused_alignment"};
  NamedCounter bad_records{*this, "bad_records"};        ///< event payloads that are no frame record of this run
  NamedCounter crc_mismatches{*this, "crc_mismatches"};  ///< images whose CRC32C differs from the record's
};

/// The counters that all senders have.
struct SenderCounters : CounterList {
  NamedCounter messages{*this, "messages"};
  NamedCounter packets{*this, "packets"};
  NamedCounter payload_bytes{*this, "payload_bytes"};
  NamedCounter waits{*this, "waits"};                      ///< times that the window or the queue was full
  NamedCounter window_timeouts{*this, "window_timeouts"};  ///< times that the window was reopened without an answer
  /// writes and events refused for good, and so lost; for a connection in error, its lost images
  NamedCounter send_errors{*this, "send_errors"};
  /// words that cannot be credits (credit_bound.hpp), and other packets to their place
  NamedCounter credits_refused{*this, "credits_refused"};
};

}  // namespace rashpa::link
