// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/port_counts.hpp"

#include <algorithm>

namespace rashpa::link::stream2 {

std::optional<std::int64_t> PortCounts::frame(std::size_t port, std::uint64_t number, std::int64_t now) noexcept {
  ends_[port] = End::none;  // the end was that of an acquisition before
  if (!counts_.begun()) {
    if (!counts_.offered(port)) counts_.offer(port, number, now);
    counts_.settle(now);
  }
  if (!counts_.begun()) return std::nullopt;
  return sls::distance(number, counts_.stretch(0).number);
}

bool PortCounts::ended() const noexcept { return std::find(ends_.begin(), ends_.end(), End::none) == ends_.end(); }

bool PortCounts::ended_before() const noexcept {
  return std::find(ends_.begin(), ends_.end(), End::before) != ends_.end();
}

}  // namespace rashpa::link::stream2
