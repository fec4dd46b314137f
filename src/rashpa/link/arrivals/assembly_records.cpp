// SPDX-License-Identifier: Apache-2.0
/// The events of images, and their records.
#include <algorithm>
#include <cstring>

#include "rashpa/core/frame/dealt.hpp"
#include "rashpa/core/frame/part_record.hpp"
#include "rashpa/link/arrivals/assembly.hpp"

namespace rashpa::link {

namespace {

constexpr unsigned kIndexBits = 24;  // of an immediate

}  // namespace

bool Assembly::of_this_dtp(const FrameRecord& record) const noexcept {
  return record.dtp == dtp_.id && record.run == dtp_.run && record.index < most_ &&
         record.slot == record.index % placement_.slots &&
         (dtp_.dealt ? holds(dtp_.slice, record.frame_number, dtp_.images)
                     : record.frame_number == dtp_.slice.frame(record.index));
}

bool Assembly::valid(const FrameRecord& record, std::uint64_t offset, std::uint32_t immediate) const noexcept {
  return of_this_dtp(record) && offset == placement_.record_offset(record.index) && record.lines == placement_.lines &&
         record.payload_bytes == payload_bytes_ &&
         immediate == immediate_of(dtp_.id, placement_.event_of(record.index)) && (record.flags & kPartFlag) == 0;
}

void Assembly::put_event(std::uint64_t offset, std::span<const std::byte> bytes, std::uint32_t immediate,
                         std::int64_t now) noexcept {
  if (put_event(offset, decode_frame_record(bytes), immediate, now)) {
    std::memcpy(records_ + (offset - records_at_), bytes.data(), FrameRecord::kBytes);
  }
}

bool Assembly::put_event(std::uint64_t offset, const std::optional<FrameRecord>& record, std::uint32_t immediate,
                         std::int64_t now) noexcept {
  ++packets_;
  if (!record || !valid(*record, offset, immediate)) {
    counters_->bad_records.add(1);
    return false;
  }
  const std::uint64_t index = record->index;
  if (index < next_) {
    counters_->duplicate_packets.add(1);
    return false;
  }
  mark(index);
  if (index >= granted()) {
    count_not_free(index);
    if (not_free_ == NotFree::late) return false;
    overrun_[index % placement_.slots] = index;
    note_event(index, now);
    return false;
  }
  Image& image = open_image(index);
  if (image.event && !image.bare) {
    counters_->duplicate_packets.add(1);
    return false;
  }
  if (numbered_ && image.begun && image.line_psn > psn_) {
    // Some of its lines were sent after it: they are of an image a ring behind, and nobody knows which they are.
    image.map.clear(placement_.line_bytes / unit_);
    image.crc = 0;
    image.crc_bytes = 0;
  }
  image.event_psn = psn_;
  image.event = true;
  image.bare = false;
  image.record = *record;
  image.last_packet_ns = now;
  counters_->events.add(1);
  counters_->payload_bytes.add(FrameRecord::kBytes + (whole_at_event() ? payload_bytes_ : 0));
  note_event(index, now);
  return true;
}

bool Assembly::put_skip(const std::optional<FrameRecord>& record, std::uint32_t immediate, std::int64_t now) noexcept {
  ++packets_;
  const bool ours = record && (record->flags & FrameRecord::skipped) != 0 && record->dtp == dtp_.id &&
                    record->run == dtp_.run && record->index < most_ &&
                    (dtp_.dealt || record->frame_number == dtp_.slice.frame(record->index)) &&
                    record->user[0] <= record->index + 1;
  // The next one may have taken its place before it was read.
  if (!ours || immediate >> kIndexBits != (dtp_.id & 0xFFU)) {
    counters_->bad_records.add(1);
    return false;
  }
  skipped_ = std::max(skipped_, record->user[0]);
  skips_ = std::max(skips_, record->user[1]);
  mark(record->index);
  counters_->skip_events.add(1);
  note_event(record->index + 1, now);
  return true;
}

std::uint64_t Assembly::sent_up_to(std::uint64_t index) const noexcept {
  return (index + 1 - std::min(index + 1, skipped_)) *
             (payload_bytes_ + placement_.parts() * std::uint64_t{FrameRecord::kBytes}) +
         skips_ * FrameRecord::kBytes;
}

void Assembly::put_bare_event(std::uint64_t index, std::int64_t now) noexcept {
  if (index < next_ && sight_ == Sight::lines) return;  // its lines have ended it
  if (index < next_ || index >= most_) return counters_->late_packets.add(1);
  if (index >= granted()) {
    count_not_free(index);
    if (not_free_ == NotFree::late) return;
    overrun_[index % placement_.slots] = index;
  } else {
    Image& image = open_image(index);
    if (image.event) {
      if (sight_ != Sight::lines) counters_->duplicate_packets.add(1);
      return;
    }
    image.event = image.bare = true;
    image.last_packet_ns = now;
    if (sight_ != Sight::lines) counters_->events.add(1);
  }
  note_event(index, now);
}

void Assembly::describe(std::uint64_t index, const FrameRecord::Words& words, std::uint32_t flags) noexcept {
  Image& image = images_[index % placement_.slots];
  if (image.index != index || image.described || index < next_) return;
  image.described = true;
  image.record.user = words;
  image.record.flags = flags;
}

void Assembly::note_event(std::uint64_t index, std::int64_t now) noexcept {
  if (any_event_ && index <= latest_event_) return;
  any_event_ = true;
  latest_event_ = index;
  latest_event_packet_ = packets_;
  latest_event_ns_ = now;
}

// The record of an event that came without one: all but time, flags and checksum is known.
FrameRecord Assembly::record_of(const Image& image) const noexcept {
  if (!image.bare) return image.record;
  FrameRecord record;
  record.dtp = dtp_.id;
  record.frame_number = dtp_.dealt ? kUnknownFrame : dtp_.slice.frame(image.index);
  record.index = image.index;
  record.slot = static_cast<std::uint32_t>(image.index % placement_.slots);
  record.lines = placement_.lines;
  record.payload_bytes = payload_bytes_;
  record.run = dtp_.run;
  if (image.described) {
    record.user = image.record.user;
    record.flags = image.record.flags;
  }
  return record;
}

}  // namespace rashpa::link
