#include "rashpa/link/verbs/event_handler.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace rashpa::link::verbs {

namespace {
constexpr std::uint64_t kIndexMask = 0xFFFFFF;
}

std::uint64_t extend_index(std::uint32_t immediate, std::uint64_t near) noexcept {
  // The difference mod 2^24, as a signed number, moves `near` to the nearest match.
  const std::uint64_t ahead = (immediate - near) & kIndexMask;
  const std::uint64_t half = (kIndexMask + 1) / 2;
  if (ahead < half) return near + ahead;
  const std::uint64_t behind = kIndexMask + 1 - ahead;
  return near >= behind ? near - behind : near + ahead;
}

void EventHandler::event(DtpPort& port, std::uint32_t immediate, std::int64_t now, ArrivalOutput& out) noexcept {
  const DestinationDtp& dtp = port.assembly.dtp();
  counters_->packets.add(1);
  const std::uint64_t index = extend_index(immediate, port.assembly.undecided());
  if (immediate >> 24 != dtp.id || index >= dtp.images) return counters_->bad_records.add(1);
  decide(port, now, out);  // the latest release must be known before the slot is judged
  const std::uint64_t offset = dtp.placement.record_offset(index);
  std::array<std::byte, FrameRecord::kBytes> record;  // NOLINT: filled in the next line
  std::memcpy(record.data(), region_.data() + offset, record.size());
  port.assembly.put_event(offset, record, immediate, now);
  const std::uint64_t bytes = (index + 1) * (dtp.placement.payload_bytes() + FrameRecord::kBytes);
  port.received_bytes = std::max(port.received_bytes, bytes);
  decide(port, now, out);
}

void EventHandler::decide(DtpPort& port, std::int64_t now, ArrivalOutput& out) noexcept {
  port.assembly.decide(port.closed.load(std::memory_order_acquire), port.released.load(std::memory_order_acquire), now,
                       out);
}

}  // namespace rashpa::link::verbs
