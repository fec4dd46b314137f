// SPDX-License-Identifier: Apache-2.0
/// Images whose parts have events of their own, and the CRC32C of lines in memory.
#include <cstring>

#include "rashpa/core/frame/part_record.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/memory/stream_copy.hpp"

namespace rashpa::link {

bool Assembly::valid_part(const FrameRecord& record, std::uint64_t offset, std::uint32_t immediate) const noexcept {
  const Placement& p = placement_;
  if (!of_this_dtp(record) || (record.flags & kPartFlag) == 0 || record.lines == 0 || record.lines >= p.lines ||
      record.lines % p.event_lines != 0 || record.payload_bytes != std::uint64_t{record.lines} * p.line_bytes) {
    return false;
  }
  const std::uint32_t part = record.lines / p.event_lines - 1;
  return offset == p.part_offset(record.index, part) &&
         immediate == immediate_of(dtp_.id, p.event_of(record.index, part));
}

void Assembly::put_part(std::uint64_t offset, std::span<const std::byte> bytes, std::uint32_t immediate,
                        std::int64_t now) noexcept {
  ++packets_;
  const std::optional<FrameRecord> record = decode_frame_record(bytes);
  if (!record || !valid_part(*record, offset, immediate)) return counters_->bad_records.add(1);
  const std::uint64_t index = record->index;
  if (index < next_) return counters_->duplicate_packets.add(1);
  if (index >= granted()) return count_not_free(index);
  Image& image = open_image(index);
  if (image.parts.set(record->lines / placement_.event_lines - 1, 1) == 0) {
    return counters_->duplicate_packets.add(1);
  }
  if (sight_ != Sight::events) std::memcpy(records_ + (offset - records_at_), bytes.data(), FrameRecord::kBytes);
  counters_->part_events.add(1);
  counters_->payload_bytes.add(FrameRecord::kBytes);
  if (!image.event) image.last_packet_ns = now;
  if (index == next_) tell_progress(image);
}

std::uint32_t Assembly::payload_crc(const Image& image) const noexcept {
  return crc_of_lines(image.index, image.crc_bytes, payload_bytes_, image.crc);
}

// The CRC32C of payload bytes [from, to) in memory behind bytes of `crc`; `to` is the end of a line.
std::uint32_t Assembly::crc_of_lines(std::uint64_t index, std::uint64_t from, std::uint64_t to,
                                     std::uint32_t crc) const noexcept {
  const Placement& p = placement_;
  const std::byte* base = lines_ + p.image_offset(index);
  if (p.contiguous()) return crc32c({base + from, to - from}, crc);
  std::uint64_t column = from % p.line_bytes;
  for (std::uint64_t line = from / p.line_bytes; line < to / p.line_bytes; ++line) {
    crc = crc32c({base + line * p.pitch + column, p.line_bytes - column}, crc);
    column = 0;
  }
  return crc;
}

// A part counts when the events of all parts up to it, and, where the link sees them, all their lines have come.
void Assembly::tell_progress(const Image& image) noexcept {
  if (gather_ != nullptr) return;  // lines are listed, and not in their places yet
  std::uint32_t parts = 0;
  while (parts < image.parts.units() && image.parts.unit_arrived(parts)) ++parts;
  if (parts == 0) return;
  const std::uint32_t end = placement_.part_end(parts - 1);
  std::uint32_t lines = end;
  if (sight_ != Sight::events) {
    const PartProgress before = progress();
    lines = before.index == image.index ? before.lines : 0;
    while (lines < end && image.map.line_arrived(lines)) ++lines;
  }
  memory::stream_fence();  // lines that the link itself has written
  // release: a thread that acquires it sees the lines
  std::atomic_ref(progress_).store(image.index << kProgressLines | lines, std::memory_order_release);
  told_ = true;
}

void Assembly::count_parts(const Image& image) noexcept {
  counters_->lost_parts.add(image.parts.units() - image.parts.arrived());
}

// The CRC32C of a part's own lines, by its record in memory; nothing when its event was lost.
std::optional<std::uint32_t> Assembly::stated_crc(const Image& image, std::uint32_t part) const noexcept {
  if (part + 1 == placement_.parts()) return static_cast<std::uint32_t>(image.record.user[0]);
  if (!image.parts.unit_arrived(part)) return {};
  const std::uint64_t offset = placement_.part_offset(image.index, part);
  const auto record = decode_frame_record({records_ + (offset - records_at_), FrameRecord::kBytes});
  const std::uint32_t immediate = immediate_of(dtp_.id, placement_.event_of(image.index, part));
  if (!record || record->index != image.index || !valid_part(*record, offset, immediate)) return {};
  return record->payload_crc32c;
}

// Of an image that is not as its record says: the map gets the lines of all parts that are as theirs say. False when
// there is none.
bool Assembly::keep_good_parts(Image& image) noexcept {
  if (sight_ != Sight::events || image.parts.units() == 0) return false;
  image.map.clear(1);
  for (std::uint32_t part = 0; part < placement_.parts(); ++part) {
    const std::uint32_t first = part == 0 ? 0 : placement_.part_end(part - 1);
    const std::uint32_t end = placement_.part_end(part);
    const std::uint64_t bytes = placement_.line_bytes;
    if (stated_crc(image, part) == crc_of_lines(image.index, first * bytes, end * bytes, 0)) {
      image.map.set(first, end - first);
    }
  }
  return image.map.arrived() > 0 && !image.map.full();
}

}  // namespace rashpa::link
