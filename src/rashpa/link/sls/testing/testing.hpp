// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Detectors, and the places of their pixels by a slow oracle that shares no code with the link, for this folder's
/// tests.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/link/sls/header.hpp"
#include "rashpa/link/sls/options.hpp"
#include "rashpa/link/sls/port_shape.hpp"

namespace rashpa::link::sls::testing {

/// DTPs for `ports` ports of `options`, one below another in one image. Each port is cut into tiles of `line_bytes` ×
/// `lines` (0: one tile). `bytes` is the size of the region that they need.
struct Places {
  std::vector<ReceiverDtp> dtps;
  std::uint64_t bytes = 0;
};

inline Places places(const Options& options, std::uint32_t ports, std::uint64_t images, std::uint32_t slots,
                     std::uint32_t line_bytes = 0, std::uint32_t lines = 0, std::uint32_t gap = 0) {
  const PortShape shape = shape_of(options, 0);
  if (line_bytes == 0) line_bytes = shape.row_bytes;
  if (lines == 0) lines = shape.rows;
  const std::uint32_t across = shape.row_bytes / line_bytes;
  const std::uint32_t down = shape.rows / lines;
  const std::uint64_t pitch = std::uint64_t{across} * (line_bytes + gap);
  const std::uint64_t slot = pitch * shape.rows * ports;
  Places out;
  for (std::uint32_t tile = 0; tile < ports * across * down; ++tile) {
    ReceiverDtp dtp;
    dtp.id = tile;
    dtp.images = images;
    dtp.run = 7;
    dtp.placement.slots = slots;
    dtp.placement.slot_bytes = slot;
    dtp.placement.pitch = pitch;
    dtp.placement.line_bytes = line_bytes;
    dtp.placement.lines = lines;
    dtp.placement.first_line_offset =
        std::uint64_t{tile / across} * lines * pitch + std::uint64_t{tile % across} * (line_bytes + gap);
    dtp.placement.records_offset = slot * slots + std::uint64_t{tile} * (slots + 1) * FrameRecord::kBytes;
    out.dtps.push_back(dtp);
  }
  out.bytes = slot * slots + out.dtps.size() * (slots + 1ULL) * FrameRecord::kBytes;
  return out;
}

/// Returns the payload byte that the oracle expects for a frame, port and packet.
inline std::byte pattern(std::uint64_t frame, std::uint32_t port, std::uint32_t packet, std::uint32_t at) noexcept {
  return static_cast<std::byte>(frame * 31 + port * 17 + packet * 7 + at * 3 + at / 256);
}

inline std::vector<std::byte> datagram(const Options& options, std::uint32_t port, std::uint64_t frame,
                                       std::uint32_t packet, std::uint16_t row, std::uint16_t column = 0) {
  const PortShape shape = shape_of(options, port);
  std::vector<std::byte> out(kHeaderBytes + shape.payload);
  Header header;
  header.frame_number = frame;
  header.packet_number = shape.first_packet + packet;
  header.row = row;
  header.column = column;
  header.type = type_of(options.detector);
  store(header, std::span(out).first<kHeaderBytes>());
  for (std::uint32_t at = 0; at < shape.payload; ++at) out[kHeaderBytes + at] = pattern(frame, port, packet, at);
  return out;
}

/// An output that accepts all arrivals, and releases nothing.
class Decided final : public ArrivalOutput {
 public:
  [[nodiscard]] bool ready(std::uint32_t) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    arrivals.push_back(arrival);
    return true;
  }
  std::vector<Arrival> arrivals;
};

}  // namespace rashpa::link::sls::testing
