// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::link::stream2 {

namespace {

constexpr std::int64_t kWithoutStartNs = 2'000'000'000;  // images wait so long for the start of their series
constexpr std::uint64_t kFar = 1024;                     // images that may be lost without a second look
constexpr std::uint32_t kProof = 3;                      // images that agree on a place far ahead

// Which image of the DTP's slice a frame is.
std::optional<std::uint64_t> image_of(const Slice& slice, std::uint64_t frame) noexcept {
  if (frame < slice.phase || (frame - slice.phase) % slice.every != 0) return std::nullopt;
  return (frame - slice.phase) / slice.every;
}

template <std::size_t N>
std::size_t keep(std::array<char, N>& room, std::string_view text) noexcept {
  const std::size_t size = std::min(N, text.size());
  std::copy_n(text.begin(), size, room.begin());
  return size;
}

}  // namespace

StreamDtp::StreamDtp(const ReceiverDtp& one, std::uint32_t list_index, std::uint32_t most_late,
                     std::span<std::byte> region, StreamCounters& counters)
    : dtp(one),
      late(std::min(most_late, one.placement.slots / 4)),
      pixels(region.data()),
      assembly(one, list_index, one.placement.line_bytes, region, NotFree::late, counters, Sight::images),
      taken(one.placement.slots, 0) {}

Intake::Intake(std::vector<StreamDtp*> dtps, bool alone, StreamCounters& counters, std::unique_ptr<PortCounts> ports)
    : dtps_(std::move(dtps)), alone_(alone), counters_(&counters), ports_(std::move(ports)) {
  std::size_t most = dtps_.size();  // that one message feeds
  if (ports_ != nullptr) {
    most = 0;
    for (const StreamDtp* one : dtps_) {
      const auto same = [&](const StreamDtp* other) { return other->dtp.module == one->dtp.module; };
      most = std::max(most, static_cast<std::size_t>(std::count_if(dtps_.begin(), dtps_.end(), same)));
    }
  }
  if (most > Parts::kMost) {
    throw ConfigError(fmt::format("stream2: {} DTPs of one stream; use {} at most", most, Parts::kMost));
  }
  for (const StreamDtp* dtp : dtps_) {
    if (alone_ || ports_ != nullptr || dtp->dtp.module < kMostChannels) continue;
    throw ConfigError(fmt::format("stream2: DTP {} is of module {}; a stream has {} channels at most, one a module",
                                  dtp->dtp.id, dtp->dtp.module, kMostChannels));
  }
}

// Of one series: the number and, where both have one, the unique id.
bool Intake::ours(const Message& message) noexcept {
  const std::string_view mine(unique_id_.data(), unique_id_size_);
  const std::string_view other = message.unique_id.substr(0, unique_id_.size());
  return message.series == series_ && (mine.empty() || other.empty() || mine == other);
}

void Intake::begin(const Message& message) noexcept {
  begun_ = true;
  series_ = message.series;
  unique_id_size_ = keep(unique_id_, message.unique_id);
  if (message.type == Type::start) {
    series_began_ns_ = message.timestamp_ns;
    for (const std::string_view name : message.names()) {
      channel_sizes_[channels_count_] = keep(channels_[channels_count_], name);
      ++channels_count_;
    }
  }
  if (channels_count_ != 0) return;
  for (const Packed& one : message.pixels()) {
    channel_sizes_[channels_count_] = keep(channels_[channels_count_], one.channel);
    ++channels_count_;
  }
}

Intake::Verdict Intake::offer(const Message& message, std::size_t connection, std::int64_t now, Parts& parts) noexcept {
  parts.count = 0;
  switch (message.type) {
    case Type::start:
      if (!begun_) {
        begin(message);
      } else if (!ours(message)) {
        counters_->other_series.add(1);
      }
      return Verdict::done;
    case Type::image:
      return image(message, connection, now, parts);
    case Type::end:
      return end(message, connection);
    case Type::other:
      break;
  }
  return Verdict::done;
}

// An end of a port names no series.
Intake::Verdict Intake::end(const Message& message, std::size_t connection) noexcept {
  if (ports_ != nullptr) {
    ports_->end(connection, begun_);
  } else if (begun_ && ours(message)) {
    ended_ = true;
  } else {
    counters_->other_series.add(1);
  }
  return Verdict::done;
}

// The channel of a module: that of the same number, in the order of the start.
const Packed* Intake::pixels_of(const Message& message, std::uint32_t module) const noexcept {
  const auto pixels = message.pixels();
  if (message.module) return pixels.data();
  if (alone_ || channels_count_ <= 1) return pixels.size() == 1 && (alone_ || module == 0) ? pixels.data() : nullptr;
  if (module >= channels_count_) return nullptr;
  const std::string_view name(channels_[module].data(), channel_sizes_[module]);
  const auto found =
      std::find_if(pixels.begin(), pixels.end(), [&](const Packed& one) { return one.channel.substr(0, 64) == name; });
  return found == pixels.end() ? nullptr : &*found;
}

// One wrong number must not end all images up to it: some others have to agree.
bool Intake::plausible(StreamDtp& dtp, std::uint64_t index) const noexcept {
  if (index < dtp.seen + kFar) return true;
  const bool agrees = dtp.far_images != 0 && index >= dtp.far && index - dtp.far <= kFar;
  dtp.far_images = agrees ? dtp.far_images + 1 : 1;
  dtp.far = index;
  if (dtp.far_images < kProof) return false;
  dtp.far_images = 0;
  return true;
}

bool Intake::fits(const StreamDtp& dtp, const Packed& packed) const noexcept {
  const Placement& p = dtp.dtp.placement;
  return packed.pixel == dtp.dtp.pixel && packed.rows == p.lines &&
         packed.columns * pixel_bytes(packed.pixel) == p.line_bytes;
}

Intake::Verdict Intake::image(const Message& message, std::size_t connection, std::int64_t now, Parts& parts) noexcept {
  std::uint64_t frame = message.image;
  if (ports_ != nullptr) {
    const auto found = ports_->frame(connection, message.image, now);
    if (!found) return Verdict::held;
    if (!begun_) begin(message);
    if (*found < 0) {
      counters_->no_frame.add(1);
      return Verdict::done;
    }
    frame = static_cast<std::uint64_t>(*found);
  } else if (!begun_) {
    if (waiting_since_ns_ == 0) waiting_since_ns_ = now;
    if (now - waiting_since_ns_ < kWithoutStartNs) return Verdict::held;
    begin(message);
  }
  if (!ours(message)) {
    counters_->other_series.add(1);
    return Verdict::done;
  }
  return take(message, frame, parts);
}

Intake::Verdict Intake::take(const Message& message, std::uint64_t frame, Parts& parts) noexcept {
  const auto feeds = [&](const StreamDtp& dtp) { return !message.module || dtp.dtp.module == *message.module; };
  bool any = false;
  // First whether all can be taken, so that a message that is held changes no count.
  for (StreamDtp* dtp : dtps_) {
    if (!feeds(*dtp)) continue;
    any = true;
    const auto index = image_of(dtp->dtp.slice, frame);
    if (!index || *index >= dtp->dtp.images || *index >= dtp->seen + kFar) continue;
    dtp->seen = std::max(dtp->seen, *index + 1);
    if (*index >= dtp->assembly.granted()) return Verdict::held;
  }
  if (!any) counters_->no_channel.add(1);
  for (StreamDtp* dtp : dtps_) {
    const auto index = feeds(*dtp) ? image_of(dtp->dtp.slice, frame) : std::nullopt;
    if (index) take_for(*dtp, *index, message, parts);
  }
  parts.timestamp_ns = message.timestamp_ns;
  if (message.since_ns && series_began_ns_ != 0) parts.timestamp_ns = series_began_ns_ + *message.since_ns;
  parts.flags = message.flags;
  parts.words = message.words;
  return parts.count == 0 ? Verdict::done : Verdict::unpack;
}

void Intake::take_for(StreamDtp& dtp, std::uint64_t index, const Message& message, Parts& parts) noexcept {
  if (index >= dtp.dtp.images || !plausible(dtp, index)) return counters_->no_frame.add(1);
  dtp.seen = std::max(dtp.seen, index + 1);
  if (message.partial) return counters_->partial_before.add(1);
  const Packed* const packed = pixels_of(message, dtp.dtp.module);
  if (packed == nullptr) return counters_->no_channel.add(1);
  if (!fits(dtp, *packed)) return counters_->wrong_shape.add(1);
  if (index < dtp.assembly.undecided()) return counters_->late_packets.add(1);
  std::uint64_t& there = dtp.taken[index % dtp.taken.size()];
  if (there == index + 1) return counters_->duplicate_packets.add(1);
  if (index >= dtp.assembly.granted())
    return counters_->no_frame.add(1);  // far ahead, and proven: later ones are taken
  there = index + 1;
  parts.parts[parts.count++] = {.dtp = &dtp, .index = index, .packed = *packed};
}

}  // namespace rashpa::link::stream2
