// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Handles the events of DTPs in the thread of a link that sees only events: immediate → image → record → assembly.
/// Without a device.
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/link/arrivals/told.hpp"

namespace rashpa::link {

/// Returns the 64-bit image index nearest to `near` whose lower 24 bits are those of `immediate`.
std::uint64_t extend_index(std::uint32_t immediate, std::uint64_t near) noexcept;

/// One DTP on the receiving side. One link thread owns it, except for its orders (Told).
struct EventDtp : Told {
  EventDtp(const ReceiverDtp& dtp, std::uint32_t list_index, const ReceiverMemory& memory, NotFree not_free,
           Verify verify, ReceiverCounters& counters)
      : assembly(dtp, list_index, dtp.placement.line_bytes == 0 ? 1 : dtp.placement.line_bytes, memory, not_free,
                 counters, Sight::events, verify),
        records(memory.records),
        credits(not_free == NotFree::late) {}

  /// Returns true when the record of a later image has replaced that of image `index`. A source that waits for credits
  /// does that only when another process raised its credits. Any thread, before the release of the image.
  [[nodiscard]] bool overwritten(std::uint64_t index) const noexcept;

  Assembly assembly;
  std::span<const std::byte> records;
  bool credits;
  std::uint64_t received_bytes = 0;  // payload that must have left the network: all up to the latest event
  std::uint64_t announced = 0;       // images up to the latest event, see EventHandler::announce()
  std::uint64_t looked_at = 0;       // images of those that next_event() has taken
};

class EventHandler {
 public:
  /// Creates a handler. `region` is the registered memory with the record rings.
  EventHandler(std::span<const std::byte> region, ReceiverCounters& counters) : region_(region), counters_(&counters) {}

  /// Handles a completed write with immediate on the queue pair of `port`: its data and all earlier data are in memory.
  void event(EventDtp& port, std::uint32_t immediate, std::int64_t now, ArrivalOutput& out) noexcept;
  /// Records that the lock word of a link with shared memory now holds `immediate`, the latest event. It announces all
  /// images since the last one, in memory or lost; next_event() handles them one by one.
  void announce(EventDtp& port, std::uint32_t immediate) noexcept;
  /// Handles the next announced image; returns false when there is none. Images that the source skipped have no record
  /// of their own. They count as lost events, or as overruns where the source does not wait for credits.
  bool next_event(EventDtp& port, std::int64_t now, ArrivalOutput& out) noexcept;
  void decide(EventDtp& port, std::int64_t now, ArrivalOutput& out, Taken taken = Taken::all) noexcept;

 private:
  bool take_skip(EventDtp& port, std::uint64_t index, std::uint32_t immediate, std::int64_t now) noexcept;
  std::span<const std::byte> region_;
  ReceiverCounters* counters_;
};

}  // namespace rashpa::link
