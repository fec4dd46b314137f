// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where each packet's bytes go: computed for all packets of a port before the run, so that nothing that a packet says
/// is used in arithmetic, and its bounds are those of a table.
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/link/sls/port_shape.hpp"

namespace rashpa::link::sls {

/// Describes how a port's image is cut into the regions of DTPs: tiles of one size, row by row. One tile is the whole
/// port; tiles of a chip each have gaps between them in the assembled image.
struct Tiles {
  std::uint32_t line_bytes = 0;
  std::uint32_t lines = 0;
  std::uint32_t across = 0;
  std::uint32_t down = 0;
  [[nodiscard]] std::uint32_t count() const noexcept { return across * down; }
};

/// Throws ConfigError when tiles of `lines` lines of `line_bytes` do not fill the port.
Tiles tiles_of(const PortShape& shape, std::uint32_t line_bytes, std::uint32_t lines);

/// A run of a packet's bytes within lines of one tile.
struct Piece {
  std::uint32_t tile = 0;
  std::uint32_t at = 0;      ///< in the payload, widened
  std::uint32_t bytes = 0;   ///< several whole lines where these are contiguous in the image
  std::uint32_t line = 0;    ///< of the tile
  std::uint32_t column = 0;  ///< byte of that line
};

/// The pieces of every packet of a port. Does not change after construction; any thread.
class PacketMap {
 public:
  /// `contiguous`: lines of a tile follow each other without a gap. `flipped`: the first row that comes is the last.
  PacketMap(const PortShape& shape, const Tiles& tiles, bool contiguous, bool flipped);

  /// Pieces of the packet of that number; empty when no packet has it.
  [[nodiscard]] std::span<const Piece> pieces(std::uint32_t packet_number) const noexcept {
    const std::uint32_t place = packet_number - first_packet_;  // wraps below the first
    if (place >= ends_.size() - 1) return {};
    return std::span(pieces_).subspan(ends_[place], ends_[place + 1] - ends_[place]);
  }
  /// The greatest number of bytes in which a map of lines can count: divides all starts, pieces and lines.
  [[nodiscard]] std::uint32_t unit() const noexcept { return unit_; }

 private:
  void add_row(const Piece& piece, bool contiguous, std::uint32_t line_bytes);

  std::uint32_t first_packet_;
  std::uint32_t unit_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> ends_;  // of the pieces of each packet, with a 0 before the first
};

}  // namespace rashpa::link::sls
