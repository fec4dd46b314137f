// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rashpa/link/counters.hpp"

namespace rashpa::link {

/// A counter that a node says something about when it grows.
struct WatchedCounter {
  std::string_view name;
  std::string_view words;  ///< "packets with a wrong key, or out of bounds, were refused"
};

/// The counters of packets that receivers refuse or cannot use, and that senders lose.
std::span<const WatchedCounter> watched_of_receivers() noexcept;
std::span<const WatchedCounter> watched_of_senders() noexcept;

/// Logs growing counters of losses: at once the first time, then once a second at most, with the growth since. It costs
/// nothing per packet, since the thread that waits for the run reads the counters from time to time. One thread at a
/// time.
class CountWatch {
 public:
  /// `dtp` −1: of the whole link.
  CountWatch(std::span<const WatchedCounter> watched, std::int64_t run, std::int64_t dtp);
  /// `now`: monotonic. `last`: the run ends, and the rest is reported.
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
