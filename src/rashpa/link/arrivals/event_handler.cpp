// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/arrivals/event_handler.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace rashpa::link {

namespace {

constexpr std::uint64_t kIndexMask = 0xFFFFFF;

using Record = std::array<std::byte, FrameRecord::kBytes>;

// Bytes in memory that others may be writing.
Record copy_of(std::span<const std::byte> region, std::uint64_t offset) noexcept {
  Record record;  // NOLINT: filled in the next line
  std::memcpy(record.data(), region.data() + offset, record.size());
  return record;
}

bool empty(const Record& record) noexcept {
  return std::all_of(record.begin(), record.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

// The bytes read at the place of an image's record.
struct Seen {
  explicit Seen(const Record& bytes) noexcept : record(decode_frame_record(bytes)), blank(!record && empty(bytes)) {}
  // True when it belongs to another image, or nothing was ever written there.
  [[nodiscard]] bool of_another_image(std::uint64_t index) const noexcept {
    return record ? record->index != index : blank;
  }
  std::optional<FrameRecord> record;
  bool blank;
};

}  // namespace

bool EventDtp::overwritten(std::uint64_t index) const noexcept {
  // Acquire: the caller's thread has read the slot before it reads the record that the source writes.
  std::atomic_thread_fence(std::memory_order_acquire);
  const Record record = copy_of(records, assembly.dtp().placement.record_offset(index));
  const auto decoded = decode_frame_record(record);
  // One that is being written is of a later image, too; an older one says that this image had none.
  return decoded ? decoded->index > index : !empty(record);
}

std::uint64_t extend_index(std::uint32_t immediate, std::uint64_t near) noexcept {
  // The difference mod 2^24, as a signed number, moves `near` to the nearest match.
  const std::uint64_t ahead = (immediate - near) & kIndexMask;
  const std::uint64_t half = (kIndexMask + 1) / 2;
  if (ahead < half) return near + ahead;
  const std::uint64_t behind = kIndexMask + 1 - ahead;
  return near >= behind ? near - behind : near + ahead;
}

void EventHandler::event(EventDtp& port, std::uint32_t immediate, std::int64_t now, ArrivalOutput& out) noexcept {
  const ReceiverDtp& dtp = port.assembly.dtp();
  counters_->packets.add(1);
  const Placement& place = dtp.placement;
  const std::uint64_t event = extend_index(immediate, port.assembly.undecided() * place.parts());
  const std::uint64_t index = event / place.parts();
  if (immediate >> 24 != (dtp.id & 0xFFU) || index >= dtp.most()) return counters_->bad_records.add(1);
  decide(port, now, out, Taken::some);  // the latest release must be known before the slot is judged
  if (const auto part = static_cast<std::uint32_t>(event % place.parts()); part + 1 < place.parts()) {
    const std::uint64_t at = place.part_offset(index, part);
    port.assembly.put_part(at, copy_of(region_, at), immediate, now);
    decide(port, now, out, Taken::some);
    return;
  }
  const std::uint64_t offset = place.record_offset(index);
  const Seen seen(copy_of(region_, offset));
  if (!seen.of_another_image(index) || !take_skip(port, index, immediate, now)) {
    port.assembly.put_event(offset, seen.record, immediate, now);
  }
  port.received_bytes = std::max(port.received_bytes, port.assembly.sent_up_to(index));
  decide(port, now, out, Taken::some);
}

void EventHandler::announce(EventDtp& port, std::uint32_t immediate) noexcept {
  const ReceiverDtp& dtp = port.assembly.dtp();
  const std::uint64_t fresh = (immediate - (port.announced - 1)) & kIndexMask;
  if (immediate >> 24 != (dtp.id & 0xFFU) || fresh > dtp.most() - port.announced) return counters_->bad_records.add(1);
  port.announced += fresh;
  // The record ring holds no more than the last ones, unless the source waits for credits: then what has its record
  // there may be followed by any number of images that were left out.
  if (!port.credits && port.announced - port.looked_at > dtp.placement.slots) {
    port.looked_at = port.announced - dtp.placement.slots;
  }
}

bool EventHandler::next_event(EventDtp& port, std::int64_t now, ArrivalOutput& out) noexcept {
  if (port.looked_at == port.announced) return false;
  const ReceiverDtp& dtp = port.assembly.dtp();
  decide(port, now, out, Taken::some);  // the latest release must be known before the slot is judged
  // An image without a granted credit was not sent; the latest may be a skip record.
  if (port.credits && port.looked_at >= port.assembly.granted()) port.looked_at = port.announced - 1;
  const std::uint64_t index = port.looked_at++;
  counters_->packets.add(1);
  const std::uint64_t offset = dtp.placement.record_offset(index);
  const Seen seen(copy_of(region_, offset));
  const bool latest = port.looked_at == port.announced;
  const bool absent = seen.of_another_image(index);
  const std::uint32_t immediate = immediate_of(dtp.id, index);
  // The latest image must have a record, its own or that of skipped images; one before it may have been left out.
  if (!absent || (latest && !take_skip(port, index, immediate, now))) {
    port.assembly.put_event(offset, seen.record, immediate, now);
  }
  port.assembly.pass_events(port.looked_at);
  decide(port, now, out, Taken::some);
  return true;
}

// False unless the skip record says that image `index` was left out, or is of a later one by now. Events of one queue
// pair, or one lock word, come in their order: none of those before can come any more.
bool EventHandler::take_skip(EventDtp& port, std::uint64_t index, std::uint32_t immediate, std::int64_t now) noexcept {
  const Seen seen(copy_of(region_, port.assembly.dtp().placement.skip_offset()));
  if (!seen.record && !seen.blank) return true;  // the next one is being written: its event says the same and more
  const auto& record = seen.record;
  if (!record || record->index < index) return false;
  if (port.assembly.put_skip(record, immediate, now)) port.assembly.pass_events(index + 1);
  return true;
}

void EventHandler::decide(EventDtp& port, std::int64_t now, ArrivalOutput& out, Taken taken) noexcept {
  port.apply_to(port.assembly, now, out, taken);
}

}  // namespace rashpa::link
