// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/port_handler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"

namespace rashpa::link::sls {

namespace {

bool all_contiguous(std::span<const ReceiverDtp> dtps) noexcept {
  return std::all_of(dtps.begin(), dtps.end(), [](const ReceiverDtp& dtp) { return dtp.placement.contiguous(); });
}

// Which image of the DTP's slice a frame is.
std::optional<std::uint64_t> image_of(const Slice& slice, std::uint64_t frame) noexcept {
  if (slice.every == 1) return frame >= slice.phase ? std::optional(frame - slice.phase) : std::nullopt;
  if (frame < slice.phase || (frame - slice.phase) % slice.every != 0) return std::nullopt;
  return (frame - slice.phase) / slice.every;
}

}  // namespace

TileDtp::TileDtp(const ReceiverDtp& dtp, std::uint32_t list_index, std::uint32_t unit, const ReceiverMemory& memory,
                 PortCounters& counters)
    : assembly(dtp, list_index, unit, memory, NotFree::overrun, counters, Sight::lines) {}

PortHandler::PortHandler(const Options& options, std::uint32_t port, std::span<const ReceiverDtp> dtps,
                         std::uint32_t first_dtp, const ReceiverMemory& memory, FrameCounts& counts,
                         PortCounters& counters, memory::Gather* gather)
    : options_(options), shape_(shape_of(options, port)), count_(counts, shape_.packets), counters_(&counters) {
  const Placement& first = dtps.front().placement;
  const Tiles tiles = tiles_of(shape_, first.line_bytes, first.lines);
  const bool contiguous = all_contiguous(dtps);
  maps_[0].emplace(shape_, tiles, contiguous, false);
  maps_[1].emplace(shape_, tiles, contiguous, true);
  for (std::uint32_t i = 0; i < dtps.size(); ++i) {
    if (dtps[i].placement.line_bytes != first.line_bytes || dtps[i].placement.lines != first.lines) {
      throw ConfigError(fmt::format("sls: DTP {} has {} lines of {} bytes, DTP {} {} of {}; cut a port in equal parts",
                                    dtps[i].id, dtps[i].placement.lines, dtps[i].placement.line_bytes, dtps[0].id,
                                    first.lines, first.line_bytes));
    }
    tiles_.push_back(std::make_unique<TileDtp>(dtps[i], first_dtp + i, maps_[0]->unit(), memory, counters));
  }
  if (gather != nullptr) {
    gather_by(*gather);
  } else if (shape_.widening() != 1) {
    wide_.resize(std::size_t{shape_.payload} * shape_.widening());
  }
}

void PortHandler::gather_by(memory::Gather& gather) {
  narrow_ = shape_.widening();
  if (maps_[0]->unit() % narrow_ != 0 || maps_[1]->unit() % narrow_ != 0) {
    throw ConfigError("sls: a DTP cuts a byte with two pixels of 4 bits; cut a port at even columns");
  }
  const bool low_first = options_.nibbles == Nibbles::low_first;
  const memory::Decode wide = low_first ? memory::Decode::low_nibble_first : memory::Decode::high_nibble_first;
  for (auto& tile : tiles_) {
    tile->assembly.gather_by(gather, narrow_ == 1 ? memory::Decode::copy : wide, counters_->gather_full);
  }
}

std::optional<std::uint64_t> PortHandler::number_of(std::span<const std::byte> datagram) const noexcept {
  if (datagram.size() < kHeaderBytes) return std::nullopt;
  const Header header = load_header(datagram.first<kHeaderBytes>());
  if (header.version != kVersion || header.type != type_of(options_.detector)) return std::nullopt;
  return header.frame_number;
}

// Two modules that send to one port would make one image of both: the first one has it.
bool PortHandler::ours(const Header& header) noexcept {
  const std::pair place{header.row, header.column};
  if (place_) return *place_ == place;
  place_ = place;
  map_ = &*maps_[flipped(options_, header.row) ? 1 : 0];
  return true;
}

void PortHandler::handle(const ScatteredBytes& datagram, std::int64_t now) noexcept {
  counters_->packets.add(1);
  if (datagram.size() != kHeaderBytes + shape_.payload) return counters_->malformed.add(1);
  std::array<std::byte, kHeaderBytes> bytes;  // NOLINT: written by the copy
  datagram.subrange(0, kHeaderBytes).copy_to(bytes.data());
  const Header header = load_header(bytes);
  if (header.version != kVersion || header.type != type_of(options_.detector)) return counters_->malformed.add(1);
  if (!ours(header)) return counters_->wrong_port.add(1);
  const std::span<const Piece> pieces = map_->pieces(header.packet_number);
  if (pieces.empty()) return counters_->wrong_number.add(1);
  const std::uint64_t falls = count_.falls();
  const std::optional<std::uint64_t> frame = count_.frame(header.frame_number);
  if (count_.falls() != falls) counters_->number_falls.add(1);
  if (!frame) return counters_->no_frame.add(1);
  const ScatteredBytes payload = datagram.subrange(kHeaderBytes, shape_.payload);
  if (wide_.empty()) return put(*frame, pieces, payload, header, now);
  widen(payload);
  const std::span<const std::byte> wide = wide_;
  put(*frame, pieces, ScatteredBytes(std::span(&wide, 1)), header, now);
}

void PortHandler::widen(const ScatteredBytes& payload) noexcept {
  const bool low_first = options_.nibbles == Nibbles::low_first;
  constexpr std::byte kNibble{0xF};
  std::byte* to = wide_.data();
  payload.for_each([&](std::span<const std::byte> run) {
    for (const std::byte pair : run) {
      const std::byte low = pair & kNibble;
      const std::byte high = pair >> 4;
      *to++ = low_first ? low : high;
      *to++ = low_first ? high : low;
    }
  });
}

void PortHandler::put(std::uint64_t frame, std::span<const Piece> pieces, const ScatteredBytes& payload,
                      const Header& header, std::int64_t now) noexcept {
  ++packet_;
  for (const Piece& piece : pieces) {
    TileDtp& tile = *tiles_[piece.tile];
    const bool first = std::exchange(tile.packet, packet_) != packet_;
    if (first) tile.assembly.begin_packet();
    const ReceiverDtp& dtp = tile.assembly.dtp();
    const std::optional<std::uint64_t> index = image_of(dtp.slice, frame);
    if (!index) continue;
    if (*index >= dtp.images) return counters_->no_frame.add(1);
    const Placement& place = dtp.placement;
    const std::uint64_t offset = place.image_offset(*index) + piece.line * place.pitch + piece.column;
    const std::uint64_t linear = std::uint64_t{piece.line} * place.line_bytes + piece.column;
    tile.assembly.put_lines(*index, offset, linear, payload.subrange(piece.at / narrow_, piece.bytes / narrow_), now);
    if (first) tile.assembly.describe(*index, words_of(header), flags_of(options_.detector, header));
    tile.touched = true;
  }
}

void PortHandler::refresh(std::int64_t now, ArrivalOutput& out) noexcept {
  for (auto& tile : tiles_) {
    if (tile->news_for(tile->assembly, out)) tile->apply_to(tile->assembly, now, out, Taken::some);
  }
}

void PortHandler::decide_all(std::int64_t now, ArrivalOutput& out, Taken taken) noexcept {
  for (auto& tile : tiles_) {
    tile->apply_to(tile->assembly, now, out, taken);
    tile->touched = tile->assembly.held_up();
  }
}

void PortHandler::decide_touched(std::int64_t now, ArrivalOutput& out) noexcept {
  for (auto& tile : tiles_) {
    if (!tile->touched) continue;
    tile->apply_to(tile->assembly, now, out, Taken::some);
    tile->touched = tile->assembly.held_up();
  }
}

bool PortHandler::news(ArrivalOutput& out) noexcept {
  return std::any_of(tiles_.begin(), tiles_.end(),
                     [&](const auto& tile) { return tile->news_for(tile->assembly, out); });
}

}  // namespace rashpa::link::sls
