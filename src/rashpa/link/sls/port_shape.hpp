// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The pixels that one UDP port brings, and how its packets share them.
#include <cstdint>

#include "rashpa/link/sls/options.hpp"

namespace rashpa::link::sls {

/// A module as its detector's software counts it; EIGER's is a half module.
struct Module {
  std::uint32_t rows = 0;      ///< of all its ports
  std::uint32_t row_step = 1;  ///< read_rows is a multiple of it
  std::uint32_t ports = 1;
};

Module module_of(const Options& options) noexcept;

/// One port's image: packets in order hold its bytes, row after row in the order in which they are sent.
struct PortShape {
  std::uint32_t width = 0;         ///< pixels of a row
  std::uint32_t rows = 0;          ///< that are read out
  std::uint32_t wire_row = 0;      ///< bytes of a row in the datagrams …
  std::uint32_t row_bytes = 0;     ///< … and in the image: twice as many with 4 bits
  std::uint32_t payload = 0;       ///< bytes of a packet behind its header
  std::uint32_t first_packet = 0;  ///< the lowest number of a frame's packets …
  std::uint32_t packets = 0;       ///< … and how many there are

  /// Bytes of the image for each in a datagram.
  [[nodiscard]] std::uint32_t widening() const noexcept { return row_bytes / wire_row; }
};

/// The shape of the port at place `port` of the receiver; ports of a module lie side by side. `options` are checked.
PortShape shape_of(const Options& options, std::uint32_t port) noexcept;

/// Returns true when a port whose header says `row` sends its last row first.
bool flipped(const Options& options, std::uint16_t row) noexcept;

}  // namespace rashpa::link::sls
