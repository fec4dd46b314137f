// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How near a sender comes to the wire's payload rate: its DTPs, its memory, a MAC of exactly 100 Gb/s at 322.27 MHz.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "../testing/bench.hpp"
#include "card_memory.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::rtl {

constexpr double kMegahertz = 322.265625;
constexpr double kCyclesPerByte = 8.0 / 100e3 * kMegahertz;  // of the wire: 100 Gb/s
constexpr std::uint32_t kWireBytes = 24;                     // preamble, FCS, gap
constexpr std::uint32_t kLineHeader = 74;                    // IPv4, with ICRC
constexpr std::uint32_t kLines = 512;                        // of an image, as a module has

/// DTPs with lines of one length, each with a frame of its own in card memory.
struct RateRun {
  std::vector<card::registers::DtpTable> tables{16};
  std::uint64_t memory_bytes = 0;
  std::uint64_t frames = 0;  ///< that leave: lines and events
};

inline RateRun rate_run(std::uint32_t line, std::uint32_t dtps) {
  RateRun run;
  const std::uint64_t images = std::max<std::uint64_t>(1, (line >= 1024 ? 4 : 8) / dtps);
  for (std::uint32_t d = 0; d < dtps; ++d) {
    const std::uint64_t pitch = line + 2ULL;
    const link::fpga::FrameRing ring{.address = run.memory_bytes,
                                     .stride = (link::fpga::FrameRing::kPixels + pitch * kLines + 63) / 64 * 64,
                                     .frames = 1,
                                     .pitch_bytes = pitch,
                                     .pixel_bytes = 2};
    link::fpga::CardDtp dtp{.id = d, .region = {0, 0, line / 2, kLines}, .images = images};
    dtp.placement = {
        .slot_bytes = std::uint64_t{line} * kLines, .slots = 2, .pitch = line, .line_bytes = line, .lines = kLines};
    link::fpga::set_transfer(run.tables[d], dtp, ring, {});
    link::fpga::set_path(run.tables[d], {.qpn = 16 + d});
    run.tables[d].dtp_paced = true;
    run.memory_bytes += ring.stride;
  }
  run.memory_bytes = (run.memory_bytes + 8191) / 4096 * 4096;
  run.frames = dtps * images * (kLines + 1);
  return run;
}

enum class Mac : std::uint8_t { every_cycle, at_100_gbps };

struct Measured {
  std::uint64_t cycles = 0;   // from the first frame's first beat to the last frame's end on the wire
  std::uint64_t payload = 0;  // bytes of lines
  std::uint64_t packets = 0;
  std::uint64_t events = 0;
  std::uint64_t beats = 0;
  std::uint64_t gaps = 0;  // cycles inside a frame without a beat
  double wire = 0;         // cycles that the wire was busy

  [[nodiscard]] double share() const { return wire / static_cast<double>(cycles); }
  [[nodiscard]] double of_a_packet(std::uint64_t value) const {
    return static_cast<double>(value) / static_cast<double>(packets + events);
  }
};

/// A sender that has been started, until `frames` frames are out, or nothing comes any more.
template <class Model>
Measured measure(Clocked<Model>& sender, Memory<Model>& memory, Mac mac, std::uint64_t frames) {
  constexpr std::uint64_t kMost = 100'000'000;
  constexpr std::size_t kOpcodeByte = 42;
  const bool wire = mac == Mac::at_100_gbps;
  Measured all;
  double busy_until = 0;  // the wire's, in cycles
  std::uint64_t first = 0;
  std::uint32_t bytes = 0;
  unsigned opcode = 0;
  bool inside = false;
  std::uint64_t cycle = 0;
  for (; all.packets + all.events < frames && cycle < kMost; ++cycle) {
    // The MAC keeps two frames' time at most; inside a frame it takes every beat.
    sender->m_axis_tready = !wire || inside || busy_until < static_cast<double>(cycle) + 2;
    memory.show(*sender, cycle);
    sender->eval();
    memory.take(*sender, cycle);
    if (inside && !sender->m_axis_tvalid) ++all.gaps;
    if (sender->m_axis_tvalid && sender->m_axis_tready) {
      if (all.beats == 0) first = cycle;
      if (!inside) {
        opcode = std::to_integer<unsigned>(bytes_of(sender->m_axis_tdata)[kOpcodeByte]);
        busy_until = std::max(busy_until, static_cast<double>(cycle));
      }
      ++all.beats;
      bytes += static_cast<std::uint32_t>(std::popcount(static_cast<std::uint64_t>(sender->m_axis_tkeep)));
      inside = sender->m_axis_tlast == 0;
      if (!inside) {
        busy_until += (bytes + kWireBytes) * kCyclesPerByte;
        all.wire += (bytes + kWireBytes) * kCyclesPerByte;
        if (opcode == wire::write_only_imm) {
          ++all.events;
        } else {
          ++all.packets;
          all.payload += bytes - kLineHeader;
        }
        bytes = 0;
      }
    }
    sender.cycle();
  }
  all.cycles = static_cast<std::uint64_t>(std::max(static_cast<double>(cycle), wire ? busy_until : 0.0)) - first;
  return all;
}

}  // namespace rashpa::rtl
