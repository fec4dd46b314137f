// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Handles the events of DTPs for the thread of a link that sees events alone, without a device: immediate → image →
/// record → assembly.
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/link/arrivals/told.hpp"

namespace rashpa::link {

/// The 64-bit image index whose lower 24 bits are those of `immediate`, nearest to `near`.
std::uint64_t extend_index(std::uint32_t immediate, std::uint64_t near) noexcept;

/// One DTP on the receiving side. Owned by one link thread, except its orders.
struct EventDtp : Told {
  EventDtp(const ReceiverDtp& dtp, std::uint32_t list_index, const ReceiverMemory& memory, NotFree not_free,
           Verify verify, ReceiverCounters& counters)
      : assembly(dtp, list_index, dtp.placement.line_bytes == 0 ? 1 : dtp.placement.line_bytes, memory, not_free,
                 counters, Sight::events, verify),
        records(memory.records),
        credits(not_free == NotFree::late) {}

  /// Any thread, before the release of image `index`: true when the record of a later image has taken the place of its
  /// own. A source that waits for credits does that only beyond what was granted: somebody else has raised its credits.
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
  /// `region`: the registered memory that holds the record rings.
  EventHandler(std::span<const std::byte> region, ReceiverCounters& counters) : region_(region), counters_(&counters) {}

  /// A write with immediate has completed on the queue pair of `port`: its data and all before it are in memory.
  void event(EventDtp& port, std::uint32_t immediate, std::int64_t now, ArrivalOutput& out) noexcept;
  /// The lock word of a link that shares memory holds `immediate` now: the latest event. All images since the one
  /// before are announced by it, in memory or never to come; next_event() takes them one by one.
  void announce(EventDtp& port, std::uint32_t immediate) noexcept;
  /// Handles the next announced image. Returns false when there is none. A source may leave images out: they have no
  /// record of their own and count as lost events, or as overruns where the source does not wait for credits.
  bool next_event(EventDtp& port, std::int64_t now, ArrivalOutput& out) noexcept;
  void decide(EventDtp& port, std::int64_t now, ArrivalOutput& out, Taken taken = Taken::all) noexcept;

 private:
  bool take_skip(EventDtp& port, std::uint64_t index, std::uint32_t immediate, std::int64_t now) noexcept;
  std::span<const std::byte> region_;
  ReceiverCounters* counters_;
};

}  // namespace rashpa::link
