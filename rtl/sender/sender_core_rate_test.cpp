// SPDX-License-Identifier: Apache-2.0
// How near a MAC of exactly 100 Gb/s comes to the wire's payload rate, at 322.27 MHz, by length of lines and number of
// DTPs, with memory that answers late and pauses. Prints one JSON document; a row below 99 % is a failed check.
#include <cstdlib>
#include <string>

#include "../testing/table.hpp"
#include "Vsender_core.h"
#include "card_memory.hpp"
#include "software.hpp"

namespace rashpa::rtl {
namespace {

constexpr double kMegahertz = 322.265625;
constexpr double kCyclesPerByte = 8.0 / 100e3 * kMegahertz;  // of the wire: 100 Gb/s
constexpr std::uint32_t kWire = 24;                          // preamble, FCS, gap
constexpr double kBar = 0.99;

struct Measured {
  std::uint64_t cycles = 0;   // from the first frame's first beat to the last frame's end on the wire
  std::uint64_t payload = 0;  // bytes of lines
  std::uint64_t packets = 0;
  std::uint64_t events = 0;
  std::uint64_t beats = 0;
  std::uint64_t gaps = 0;  // cycles inside a frame without a beat
  double wire = 0;         // cycles that the wire was busy
};

class Rate {
 public:
  explicit Rate(Clocked<Vsender_core>& core) : core_(core) {}

  /// `wire`: the MAC keeps to 100 Gb/s; else it takes a beat each cycle.
  Measured operator()(std::uint32_t line, std::uint32_t dtps, bool wire) {
    Random random(line + dtps);
    constexpr std::uint32_t kLines = 512;  // as a module has
    const std::uint64_t images = std::max<std::uint64_t>(1, (line >= 1024 ? 4 : 8) / dtps + (dtps > 1 ? 0 : 0));
    std::uint64_t end = 0;
    std::vector<card::registers::DtpTable> tables(16);
    for (std::uint32_t d = 0; d < dtps; ++d) {
      FrameRing ring{.address = end,
                     .stride = times64(128 + (line + 2) * kLines),
                     .frames = 1,
                     .pitch_bytes = line + 2ULL,
                     .pixel_bytes = 2};
      CardDtp dtp{.id = d, .region = {0, 0, line / 2, kLines}, .images = images};
      dtp.placement = {
          .slot_bytes = std::uint64_t{line} * kLines, .slots = 2, .pitch = line, .line_bytes = line, .lines = kLines};
      set_transfer(tables[d], dtp, ring, {});
      CardPath path;
      path.qpn = 16 + d;
      set_path(tables[d], path);
      tables[d].dtp_paced = true;
      end += ring.stride;
    }
    const Bytes memory = random.bytes((end + 8191) / 4096 * 4096);
    load(tables);
    return play(memory, random, wire, dtps * images * (kLines + 1));
  }

 private:
  void load(const std::vector<card::registers::DtpTable>& tables) {
    core_->arm_i = 1;
    core_.cycle();
    core_->arm_i = 0;
    for (std::uint32_t d = 0; d < 16; ++d) {
      write_table(*core_, d, tables[d], [&] { core_.cycle(); });
      core_->frames_i[d] = 1U << 30U;
    }
  }

  Measured play(const Bytes& memory, Random& random, bool wire, std::uint64_t frames) {
    Memory<Vsender_core> card(memory, random, 100, 10);
    Measured all;
    double busy_until = 0;  // the wire's, in cycles
    std::uint64_t first = 0;
    std::uint32_t bytes = 0;
    bool inside = false;
    core_->start_i = 1;
    std::uint64_t cycle = 0;
    for (; all.packets + all.events < frames && cycle < 100'000'000; ++cycle) {
      // The MAC keeps two frames' time at most; inside a frame it takes every beat.
      core_->m_axis_tready = !wire || inside || busy_until < static_cast<double>(cycle) + 2;
      card.show(*core_, cycle);
      core_->eval();
      card.take(*core_, cycle);
      const bool taken = core_->m_axis_tvalid && core_->m_axis_tready;
      if (inside && !core_->m_axis_tvalid) ++all.gaps;
      if (taken) {
        if (all.beats == 0) first = cycle;
        if (!inside) {
          opcode_ = std::to_integer<unsigned>(bytes_of(core_->m_axis_tdata)[42]);
          busy_until = std::max(busy_until, static_cast<double>(cycle));
        }
        ++all.beats;
        bytes += static_cast<std::uint32_t>(__builtin_popcountll(core_->m_axis_tkeep));
        inside = core_->m_axis_tlast == 0;
        if (!inside) {
          busy_until += (bytes + kWire) * kCyclesPerByte;
          all.wire += (bytes + kWire) * kCyclesPerByte;
          if (opcode_ == wire::write_only_imm) {
            ++all.events;
          } else {
            ++all.packets;
            all.payload += bytes - 74;
          }
          bytes = 0;
        }
      }
      core_.cycle();
      core_->start_i = 0;
    }
    all.cycles = static_cast<std::uint64_t>(std::max(static_cast<double>(cycle), wire ? busy_until : 0.0)) - first;
    return all;
  }

  Clocked<Vsender_core>& core_;
  unsigned opcode_ = 0;
};

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa::rtl;
  Clocked<Vsender_core> core(1);
  core->abort_i = core->start_i = core->arm_i = core->pushed_mode_i = core->pushed_valid_i = 0;
  core->may_go_i = 0xFFFF;
  core->m_axi_rvalid = core->m_axi_arready = core->m_axis_tready = core->fault_drop_i = core->fault_flip_i = 0;
  core.reset();
  Rate rate(core);
  std::printf("{\"megahertz\": %.2f, \"rows\": [", kMegahertz);
  const char* comma = "\n ";
  for (const std::uint32_t dtps : {1U, 16U}) {
    for (const std::uint32_t line : {64U, 128U, 256U, 512U, 1024U, 2048U, 4096U}) {
      const Measured wire = rate(line, dtps, true);
      const Measured free = rate(line, dtps, false);
      const double share = wire.wire / static_cast<double>(wire.cycles);
      std::printf(
          "%s{\"line_bytes\": %u, \"dtps\": %u, \"wire_busy\": %.4f, \"payload_gbps\": %.2f, \"free_beats_a_packet\": "
          "%.2f, "
          "\"free_cycles_a_packet\": %.2f, \"gaps\": %llu}",
          comma, line, dtps, share,
          static_cast<double>(wire.payload) * 8 / (static_cast<double>(wire.cycles) / kMegahertz) * 1e-3,
          static_cast<double>(free.beats) / static_cast<double>(free.packets + free.events),
          static_cast<double>(free.cycles) / static_cast<double>(free.packets + free.events),
          static_cast<unsigned long long>(wire.gaps + free.gaps));
      comma = ",\n ";
      check(wire.gaps + free.gaps == 0, "%u B, %u DTPs: gaps inside frames", line, dtps);
      if (line >= 256) check(share >= kBar, "%u B, %u DTPs: the wire is busy in %.4f of the time", line, dtps, share);
    }
  }
  std::printf("\n]}\n");
  std::fflush(stdout);
  return result(core.cycles());
}
