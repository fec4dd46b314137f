// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/arrivals/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/dtp_id.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/memory/stream_copy.hpp"

namespace rashpa::link {

namespace {

// A network reorders packets by a few places: an event is given up when a later event and this many packets have come,
// or nothing has come for this long.
constexpr std::uint64_t kReorderPackets = 8;
constexpr std::int64_t kReorderNs = 5'000'000;
constexpr std::uint64_t kNone = ~std::uint64_t{0};

// a·b + c without overflow, or the largest value.
std::uint64_t bounded(std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
  std::uint64_t product = 0;
  std::uint64_t sum = 0;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum)) return kNone;
  return sum;
}

}  // namespace

void check(const ReceiverDtp& dtp, std::uint64_t line_bytes, std::uint64_t record_bytes) {
  const Placement& p = dtp.placement;
  const auto refuse = [&](const std::string& what) {
    throw ConfigError(fmt::format("link: DTP {}: {}", dtp.id, what));
  };
  if (dtp.id > kLargestDtpId) refuse(fmt::format("the id is too large; give one of 0 … {}", kLargestDtpId));
  if (p.slots == 0 || p.lines == 0 || p.line_bytes == 0) refuse("slots, lines or line_bytes is 0; give 1 or more");
  if (p.lines > 1 && p.pitch < p.line_bytes) {
    refuse(fmt::format("pitch {} is less than a line of {} bytes; give as many bytes or more", p.pitch, p.line_bytes));
  }
  const std::uint64_t last_line = bounded(p.lines - 1, p.pitch, p.line_bytes);
  const std::uint64_t in_slot = bounded(1, p.first_line_offset, last_line);
  if (in_slot > p.slot_bytes)
    refuse(fmt::format("its lines end at byte {} of a slot of {}; make the slot larger", in_slot, p.slot_bytes));
  if (bounded(p.slots, p.slot_bytes, p.pixels_offset) > line_bytes) {
    refuse(fmt::format("{} slots of {} bytes from {} do not fit the region of {} bytes; use fewer slots", p.slots,
                       p.slot_bytes, p.pixels_offset, line_bytes));
  }
  if (bounded(p.records_bytes(), 1, p.records_offset) > record_bytes) {
    refuse(
        fmt::format("{} records and one of skipped images from {} do not fit the region of {} bytes; use fewer slots",
                    p.slots, p.records_offset, record_bytes));
  }
}

Assembly::Assembly(const ReceiverDtp& dtp, std::uint32_t list_index, MapUnit unit, const ReceiverMemory& memory,
                   NotFree not_free, ReceiverCounters& counters, Sight sight, Verify verify)
    : dtp_(dtp),
      placement_(dtp.placement),
      list_index_(list_index),
      unit_(unit.bytes),
      finest_(unit.finest),
      lines_(memory.lines.data),
      records_(memory.records.data()),
      records_at_(memory.records_at),
      not_free_(not_free),
      sight_(sight),
      verify_(verify),
      counters_(&counters),
      payload_bytes_(dtp.placement.payload_bytes()),
      most_(dtp.most()) {
  check(dtp_, memory.lines.bytes, memory.records_at + memory.records.size());
  if (placement_.records_offset < records_at_) {
    throw ConfigError(fmt::format("link: DTP {}: its records lie before their block; give an offset from {} on", dtp.id,
                                  records_at_));
  }
  if (placement_.lines == 1) placement_.pitch = placement_.line_bytes;  // one line has no pitch
  images_.resize(placement_.slots);
  if (unit_ == 0 || finest_ == 0 || unit_ % finest_ != 0 || placement_.line_bytes % unit_ != 0) {
    throw ConfigError(fmt::format(
        "link: DTP {}: a unit of {} bytes does not divide a line of {} bytes; choose another pmtu, or another width",
        dtp.id, unit_, placement_.line_bytes));
  }
  for (Image& image : images_) {
    image.map = LineMap(placement_.lines, placement_.line_bytes / unit_, placement_.line_bytes / finest_);
    image.parts = LineMap(placement_.parts() - 1, 1);
  }
  overrun_.assign(placement_.slots, kNone);
}

Target Assembly::locate(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const Placement& p = placement_;
  std::uint64_t slot = 0;
  Target target;
  if (const std::uint64_t in_pixels = offset - p.pixels_offset;
      offset >= p.pixels_offset && in_pixels < p.slots * p.slot_bytes) {
    slot = in_pixels / p.slot_bytes;
    const std::uint64_t in_slot = in_pixels - slot * p.slot_bytes;
    if (in_slot >= p.first_line_offset) {
      const std::uint64_t from_first = in_slot - p.first_line_offset;
      if (p.contiguous()) {
        target.linear = from_first;
        if (from_first < payload_bytes_ && bytes <= payload_bytes_ - from_first) target.kind = Target::Kind::lines;
      } else {
        const std::uint64_t line = from_first / p.pitch;
        const std::uint64_t column = from_first - line * p.pitch;
        target.linear = line * p.line_bytes + column;
        if (line < p.lines && column < p.line_bytes && bytes <= p.line_bytes - column)
          target.kind = Target::Kind::lines;
      }
    }
  }
  if (target.kind == Target::Kind::refused) {
    if (bytes != FrameRecord::kBytes || offset < p.records_offset) return target;
    const std::uint64_t in_records = offset - p.records_offset;
    slot = in_records / FrameRecord::kBytes;
    if (in_records >= p.records_bytes() || in_records % FrameRecord::kBytes != 0) return target;
    if (slot == p.slots) {
      target.kind = Target::Kind::skip;
      return target;
    }
    target.kind = slot < p.slots ? Target::Kind::record : Target::Kind::part;
    if (slot > p.slots) slot = (slot - p.slots - 1) / (p.parts() - 1);
  }
  const std::uint64_t ahead = slot >= next_slot_ ? slot - next_slot_ : slot + p.slots - next_slot_;
  target.index = next_ + ahead;
  return target;
}

void Assembly::count_not_free(std::uint64_t index) noexcept {
  if (index < next_ || not_free_ == NotFree::late) {
    count_packet(counters_->late_packets);
  } else {
    count_packet(counters_->overrun_packets);
  }
}

void Assembly::mark(std::uint64_t index) noexcept {
  if (!numbered_ || (marked_ && !after(mark_psn_))) return;
  marked_ = true;
  mark_psn_ = psn_;
  mark_index_ = index;
}

// Whether the lines in hand can be of this image, and not of one a ring before or behind.
bool Assembly::belongs(const Image& image) noexcept {
  if (!numbered_) return true;
  if (floored_ && !after(floor_psn_)) {
    counters_->late_packets.add(1);
    return false;
  }
  const bool passed = marked_ && image.index <= mark_index_;
  if ((passed && after(mark_psn_)) || (image.event && !image.bare && after(image.event_psn))) {
    count_not_free(image.index);
    return false;
  }
  if (marked_ && !passed && !after(mark_psn_)) {
    counters_->late_packets.add(1);
    return false;
  }
  return true;
}

Assembly::Image& Assembly::open_image(std::uint64_t index) noexcept {
  Image& image = images_[index % placement_.slots];
  if (image.index != index) {
    image.index = index;
    image.map.clear(placement_.line_bytes / unit_);
    image.crc_bytes = 0;
    image.crc = 0;
    image.parts.clear(1);
    image.event = false;
    image.bare = false;
    image.described = false;
    image.begun = false;
    image.list = 0;
  }
  return image;
}

// A packet that does not lie on whole units, as only a foreign sender makes them: from now on the maps count in finer
// ones, if that helps. Maps of images that are decided belong to their takers, and stay as they are.
bool Assembly::refine_for(std::uint64_t linear, std::uint64_t bytes) noexcept {
  if (unit_ == finest_ || linear % finest_ != 0 || bytes % finest_ != 0) return false;
  for (Image& image : images_) {
    if (image.index != kNone && image.index >= next_) image.map.refine(unit_ / finest_);
  }
  unit_ = finest_;
  return true;
}

Assembly::Image* Assembly::admit_lines(std::uint64_t index, std::uint64_t linear, std::uint64_t bytes) noexcept {
  if (!in_pieces_) ++packets_;
  if (index < next_ || index >= granted() || index >= most_) {
    if (sight_ == Sight::lines && not_free_ == NotFree::overrun && index >= granted() && index < most_) {
      overrun_[index % placement_.slots] = index;
    }
    count_not_free(index);
    return nullptr;
  }
  if (linear % unit_ != 0 || bytes % unit_ != 0) [[unlikely]] {
    if (!refine_for(linear, bytes)) {
      counters_->refused_alignment.add(1);
      return nullptr;
    }
  }
  Image& image = open_image(index);
  if (!belongs(image)) return nullptr;
  if (!image.begun || after(image.line_psn)) image.line_psn = psn_;
  image.begun = true;
  return &image;
}

void Assembly::mark_lines(Image& image, std::uint64_t linear, std::uint64_t bytes, std::int64_t now) noexcept {
  const std::uint64_t units = bytes / unit_;
  const std::uint64_t fresh = image.map.set(linear / unit_, units);
  if (sight_ == Sight::lines && !image.event) put_bare_event(image.index, now);
  if (image.event) image.last_packet_ns = now;
  counters_->payload_bytes.add(bytes);
  if (fresh != units) count_packet(counters_->duplicate_packets);
}

void Assembly::put_lines(std::uint64_t index, std::uint64_t offset, std::uint64_t linear,
                         std::span<const std::byte> bytes, std::optional<std::uint32_t> crc,
                         std::int64_t now) noexcept {
  Image* const image = admit_lines(index, linear, bytes.size());
  if (image == nullptr) return;
  if (gather_ != nullptr) {
    if (!list_lines(*image, offset, bytes)) return;
  } else {
    memory::stream_copy(lines_ + offset, bytes);  // emit() comes behind a fence
  }
  if (sight_ == Sight::lines) {
    // Nothing to compare a checksum with. A record that comes after all has it made from memory.
  } else if (linear == image->crc_bytes) {
    image->crc = crc ? join_(image->crc, *crc, bytes.size()) : crc32c(bytes, image->crc);
    image->crc_bytes += bytes.size();
  } else if (linear < image->crc_bytes) {
    // Bytes that the checksum covers were written again, perhaps with others: it is made anew from memory at the end.
    image->crc = 0;
    image->crc_bytes = 0;
  }
  mark_lines(*image, linear, bytes.size(), now);
}

void Assembly::put_lines(std::uint64_t index, std::uint64_t offset, std::uint64_t linear, const ScatteredBytes& bytes,
                         std::int64_t now) noexcept {
  const std::uint64_t decoded = bytes.size() * memory::widening(decode_);
  Image* const image = admit_lines(index, linear, decoded);
  if (image == nullptr) return;
  bool placed = true;
  bytes.for_each([&](std::span<const std::byte> run) {
    if (gather_ != nullptr) {
      placed = placed && list_lines(*image, offset, run);
    } else {
      memory::stream_copy(lines_ + offset, run);  // emit() comes behind a fence
    }
    offset += run.size() * memory::widening(decode_);
  });
  if (placed) mark_lines(*image, linear, decoded, now);
}

bool Assembly::list_lines(Image& image, std::uint64_t offset, std::span<const std::byte> bytes) noexcept {
  const bool listed = gather_->add({.source = bytes.data(),
                                    .destination = offset,
                                    .bytes = static_cast<std::uint32_t>(bytes.size()),
                                    .decode = decode_});
  if (!listed) {
    count_packet(*full_);
    return false;
  }
  image.list = gather_->latest();
  return true;
}

// True when the image's checksum is compared before it is called complete.
bool Assembly::verified(const Image& image) const noexcept {
  constexpr std::uint64_t kSample = 16;
  if (gather_ != nullptr && image.crc_bytes != payload_bytes_) return false;  // the rest lies where nobody reads it
  if (sight_ == Sight::images) return false;
  if (sight_ != Sight::events || verify_ == Verify::all) return true;
  return verify_ == Verify::sampled && image.index % kSample == 0;
}

// True when the event of image next_ cannot come any more.
bool Assembly::given_up(std::int64_t now, bool timed) const noexcept {
  if (!any_event_ || latest_event_ <= next_ || sight_ == Sight::images) return false;
  return latest_event_ >= next_ + 2 || packets_ >= latest_event_packet_ + kReorderPackets ||
         (timed && now - latest_event_ns_ > kReorderNs);
}

Arrival Assembly::judge(Image& image, bool event) noexcept {
  Arrival arrival;
  arrival.dtp = list_index_;
  arrival.index = next_;
  arrival.lines_missing = placement_.lines;
  if (!event) {
    arrival.loss = Loss::event;
    return arrival;
  }
  arrival.record = record_of(image);
  arrival.last_packet_ns = image.last_packet_ns;
  arrival.completeness = Completeness::partial;
  const bool lines_lost = !whole_at_event() && !image.map.full();
  if (gather_ != nullptr && gather_->failed()) {
    arrival.loss = Loss::corrupt;  // nobody knows which lines are in their places
  } else if (lines_lost && sight_ == Sight::unchecked_packets) {
    // Only the CRC32C of all lines could prove those that came.
    arrival.loss = Loss::corrupt;
  } else if (lines_lost) {
    arrival.loss = Loss::lines;
    arrival.lines_missing = image.map.lines_missing();
    arrival.map = &image.map;
  } else if (image.bare) {
    arrival.completeness = Completeness::complete;
    arrival.proof = sight_ == Sight::unchecked_packets ? Proof::none : Proof::lines;
    arrival.lines_missing = 0;
  } else if (verified(image) && payload_crc(image) != image.record.payload_crc32c) {
    counters_->crc_mismatches.add(1);
    arrival.loss = Loss::corrupt;
    if (keep_good_parts(image)) {
      arrival.loss = Loss::lines;
      arrival.lines_missing = image.map.lines_missing();
      arrival.map = &image.map;
    }
  } else {
    arrival.completeness = Completeness::complete;
    const Proof unverified = sight_ == Sight::events ? Proof::none : Proof::lines;
    arrival.proof = verified(image) ? Proof::crc : unverified;
    arrival.lines_missing = 0;
  }
  return arrival;
}

void Assembly::decide_by(std::uint64_t closed, std::uint64_t released, std::int64_t now, bool timed,
                         ArrivalOutput& out) noexcept {
  if (released > released_) released_ = released < next_ ? released : next_;
  held_up_ = false;
  if (told_) out.news();
  told_ = false;
  while (next_ < most_) {
    Image& image = images_[next_slot_];
    const bool event = image.index == next_ && image.event;
    const bool close = next_ < closed;
    const bool whole = whole_at_event() || image.map.full();
    const bool overrun = overrun_[next_slot_] == next_;
    const bool passed = !event && !overrun && next_ < passed_;
    // Without events an image that has begun is as open as one that nobody has heard of: until it is given up.
    const bool ended = event && sight_ != Sight::lines;
    const bool settled =
        (event && whole) || (ended ? latest_event_ > next_ : overrun || passed || given_up(now, timed));
    if (!settled && !close) break;
    // The one place where an image waits for its lines, and its slot for writes that are under way.
    const bool placed = gather_ == nullptr || image.index != next_ || gather_->ended(image.list);
    if (!placed || (event && !out.ready(list_index_))) {
      held_up_ = true;
      break;
    }
    Arrival arrival = judge(image, event);
    if (!event) {
      arrival.last_packet_ns = now;
      const bool overwritten = passed && not_free_ == NotFree::overrun;
      if (overrun || overwritten) {
        arrival.loss = Loss::overrun;
      } else if (!settled) {
        arrival.loss = Loss::deadline;
      }
      if (!out.emit(arrival)) {
        held_up_ = true;
        break;
      }
      if (overwritten) counters_->overrun_packets.add(1);
    } else {
      memory::stream_fence();
      out.emit(arrival);
      if (numbered_ && !image.bare) {
        floored_ = true;
        floor_psn_ = image.event_psn;
      }
    }
    if (image.index == next_) count_parts(image);
    ++next_;
    next_slot_ = next_slot_ + 1 == placement_.slots ? 0 : next_slot_ + 1;
  }
}

}  // namespace rashpa::link
