// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The pixels of one UDP port, and their division into packets.
#include <cstdint>

#include "rashpa/link/sls/options.hpp"

namespace rashpa::link::sls {

/// A module as its detector's software counts it; for EIGER a half module.
struct Module {
  std::uint32_t rows = 0;      ///< rows of all its ports
  std::uint32_t row_step = 1;  ///< read_rows must be a multiple of it
  std::uint32_t ports = 1;
};

Module module_of(const Options& options) noexcept;

/// One port's image. Its packets in order hold its bytes, row after row in sending order.
struct PortShape {
  std::uint32_t width = 0;         ///< pixels of a row
  std::uint32_t rows = 0;          ///< rows that are read out
  std::uint32_t wire_row = 0;      ///< bytes of a row in the datagrams
  std::uint32_t row_bytes = 0;     ///< bytes of a row in the image: twice wire_row with 4 bits
  std::uint32_t payload = 0;       ///< bytes of a packet after its header
  std::uint32_t first_packet = 0;  ///< lowest packet number of a frame
  std::uint32_t packets = 0;       ///< number of packets of a frame

  /// Returns the bytes of the image for each byte of a datagram.
  [[nodiscard]] std::uint32_t widening() const noexcept { return row_bytes / wire_row; }
};

/// Returns the shape of the port at place `port` of the receiver; ports of a module lie side by side. `options` were
/// checked.
PortShape shape_of(const Options& options, std::uint32_t port) noexcept;

/// Returns true when a port with `row` in its header sends its last row first.
bool flipped(const Options& options, std::uint16_t row) noexcept;

}  // namespace rashpa::link::sls
