// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/count_watch.hpp"

#include <array>

#include "rashpa/core/log.hpp"

namespace rashpa::link {
namespace {

constexpr std::int64_t kIntervalNs = 1'000'000'000;

constexpr std::array kOfReceivers{
    WatchedCounter{"refused_key", "packets with a wrong key, or out of bounds, were refused"},
    WatchedCounter{"refused_alignment",
                   "packets were refused because they do not lie on the line map's units; see "
                   "link.unit_bytes"},
    WatchedCounter{"wrong_source", "packets from an address or queue pair that is not connected were refused"},
    WatchedCounter{"unknown_qp", "packets for a queue pair that does not exist were refused"},
    WatchedCounter{"malformed", "packets that are no RoCE were refused"},
    WatchedCounter{"icrc_bad", "packets with a wrong ICRC were refused"},
    WatchedCounter{"bad_records", "events without a frame record of this run were refused"},
    WatchedCounter{"overrun_packets", "packets found the slot of their image not free"},
    WatchedCounter{"crc_mismatches", "images have another CRC32C than their frame record says"},
};
constexpr std::array kOfSenders{
    WatchedCounter{"send_errors", "writes or events could not be sent and are lost"},
    WatchedCounter{"connection_errors", "connections are in error: what follows of their DTP is lost"},
    WatchedCounter{"window_timeouts", "times the window was opened again without news of the receiver"},
};

}  // namespace

std::span<const WatchedCounter> watched_of_receivers() noexcept { return kOfReceivers; }
std::span<const WatchedCounter> watched_of_senders() noexcept { return kOfSenders; }

CountWatch::CountWatch(std::span<const WatchedCounter> watched, std::int64_t run, std::int64_t dtp)
    : watched_(watched), run_(run), dtp_(dtp), seen_(watched.size()) {}

void CountWatch::look(const Counts& counts, std::int64_t now, bool last) {
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Seen& seen = seen_[i];
    const std::uint64_t count = counts[watched_[i].name];
    if (count == seen.said) continue;
    const bool first = seen.said == 0;
    if (!first && !last && now - seen.said_ns < kIntervalNs) continue;
    if (first) {
      log::write(log::Level::warning, {.run = run_, .dtp = dtp_}, "{}: {} {}", watched_[i].name, count,
                 watched_[i].words);
    } else {
      log::write(log::Level::warning, {.run = run_, .dtp = dtp_}, "{}: {} more, {} so far", watched_[i].name,
                 count - seen.said, count);
    }
    seen = {.said = count, .said_ns = now};
  }
}

}  // namespace rashpa::link
