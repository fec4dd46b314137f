// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/packet_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "rashpa/core/error.hpp"

namespace rashpa::link::sls {

Tiles tiles_of(const PortShape& shape, std::uint32_t line_bytes, std::uint32_t lines) {
  if (line_bytes == 0 || lines == 0 || shape.row_bytes % line_bytes != 0 || shape.rows % lines != 0) {
    throw ConfigError(
        fmt::format("sls: a DTP has {} lines of {} bytes, but a port brings {} rows of {} bytes ({} pixels); make a "
                    "module as large as a port, or as a chip of 256 × 256 pixels",
                    lines, line_bytes, shape.rows, shape.row_bytes, shape.width));
  }
  return {line_bytes, lines, shape.row_bytes / line_bytes, shape.rows / lines};
}

PacketMap::PacketMap(const PortShape& shape, const Tiles& tiles, bool contiguous, bool flipped)
    : first_packet_(shape.first_packet), unit_(tiles.line_bytes), ends_{0} {
  const std::uint32_t payload = shape.payload * shape.widening();
  for (std::uint32_t packet = 0; packet < shape.packets; ++packet) {
    const std::uint64_t begin = std::uint64_t{packet} * payload;
    for (std::uint32_t at = 0; at < payload;) {
      const auto row = static_cast<std::uint32_t>((begin + at) / shape.row_bytes);
      const auto column = static_cast<std::uint32_t>((begin + at) % shape.row_bytes);
      const std::uint32_t bytes = std::min(payload - at, tiles.line_bytes - column % tiles.line_bytes);
      const std::uint32_t y = flipped ? shape.rows - 1 - row : row;
      add_row({.tile = y / tiles.lines * tiles.across + column / tiles.line_bytes,
               .at = at,
               .bytes = bytes,
               .line = y % tiles.lines,
               .column = column % tiles.line_bytes},
              contiguous, tiles.line_bytes);
      at += bytes;
    }
    ends_.push_back(pieces_.size());
  }
}

// Joins a run with the one before where both sides of it are contiguous.
void PacketMap::add_row(const Piece& piece, bool contiguous, std::uint32_t line_bytes) {
  unit_ = std::gcd(unit_, std::gcd(piece.column, piece.bytes));
  if (contiguous && pieces_.size() > ends_.back()) {
    Piece& last = pieces_.back();
    const std::uint64_t end = std::uint64_t{last.line} * line_bytes + last.column + last.bytes;
    const std::uint64_t begin = std::uint64_t{piece.line} * line_bytes + piece.column;
    if (last.tile == piece.tile && last.at + last.bytes == piece.at && end == begin) {
      last.bytes += piece.bytes;
      return;
    }
  }
  pieces_.push_back(piece);
}

}  // namespace rashpa::link::sls
