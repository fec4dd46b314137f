// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rashpa/link/counters.hpp"

namespace rashpa::link {

/// A counter whose growth a node logs.
struct WatchedCounter {
  std::string_view name;
  std::string_view words;  ///< text for the log: "packets with a wrong key, or out of bounds, were refused"
};

/// Returns the counters to watch: of packets that receivers refuse or cannot use. watched_of_senders() returns those of
/// packets that senders lose.
std::span<const WatchedCounter> watched_of_receivers() noexcept;
std::span<const WatchedCounter> watched_of_senders() noexcept;

/// Logs growing counters of losses: the first growth at once, then at most once a second with the growth since. Packets
/// cost nothing, because the thread that waits for the run reads the counters from time to time. One thread at a time.
class CountWatch {
 public:
  /// Creates a watch for one DTP; `dtp` −1: for the whole link.
  CountWatch(std::span<const WatchedCounter> watched, std::int64_t run, std::int64_t dtp);
  /// Compares `counts` at the monotonic time `now`. `last`: the run ends, and the rest is logged.
  void look(const Counts& counts, std::int64_t now, bool last = false);

 private:
  struct Seen {
    std::uint64_t said = 0;
    std::int64_t said_ns = 0;
  };
  std::span<const WatchedCounter> watched_;
  std::int64_t run_;
  std::int64_t dtp_;
  std::vector<Seen> seen_;
};

}  // namespace rashpa::link
