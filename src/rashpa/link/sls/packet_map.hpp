// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The destinations of each packet's bytes, computed for all packets of a port before the run. So no value in a packet
/// is used in arithmetic, and bounds are those of a table.
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/link/sls/port_shape.hpp"

namespace rashpa::link::sls {

/// The division of a port's image into the regions of DTPs: tiles of one size, row by row. One tile is the whole port;
/// tiles of one chip each have gaps between them in the assembled image.
struct Tiles {
  std::uint32_t line_bytes = 0;
  std::uint32_t lines = 0;
  std::uint32_t across = 0;
  std::uint32_t down = 0;
  [[nodiscard]] std::uint32_t count() const noexcept { return across * down; }
};

/// Returns the tiles. Throws ConfigError when tiles of `lines` lines of `line_bytes` do not fill the port.
Tiles tiles_of(const PortShape& shape, std::uint32_t line_bytes, std::uint32_t lines);

/// A run of a packet's bytes in the lines of one tile.
struct Piece {
  std::uint32_t tile = 0;
  std::uint32_t at = 0;      ///< byte in the payload after widening
  std::uint32_t bytes = 0;   ///< covers several whole lines where these are contiguous in the image
  std::uint32_t line = 0;    ///< line of the tile
  std::uint32_t column = 0;  ///< byte in that line
};

/// The pieces of all packets of a port. Constant after construction; any thread.
class PacketMap {
 public:
  /// Computes the pieces. `contiguous`: lines of a tile adjoin without gaps. `flipped`: the first row that comes is the
  /// last of the image.
  PacketMap(const PortShape& shape, const Tiles& tiles, bool contiguous, bool flipped);

  /// Returns the pieces of the packet with that number; empty when there is no such packet.
  [[nodiscard]] std::span<const Piece> pieces(std::uint32_t packet_number) const noexcept {
    const std::uint32_t place = packet_number - first_packet_;  // wraps below the first
    if (place >= ends_.size() - 1) return {};
    return std::span(pieces_).subspan(ends_[place], ends_[place + 1] - ends_[place]);
  }
  /// Returns the largest unit in bytes for a line map: it divides all starts, pieces and lines.
  [[nodiscard]] std::uint32_t unit() const noexcept { return unit_; }

 private:
  void add_row(const Piece& piece, bool contiguous, std::uint32_t line_bytes);

  std::uint32_t first_packet_;
  std::uint32_t unit_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> ends_;  // of the pieces of each packet, with a 0 before the first
};

}  // namespace rashpa::link::sls
