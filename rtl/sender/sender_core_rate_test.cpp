// SPDX-License-Identifier: Apache-2.0
// How near a MAC of exactly 100 Gb/s comes to the wire's payload rate, at 322.27 MHz, by length of lines and number of
// DTPs, with memory that answers late and pauses. Prints one JSON document; a row below 99 % is a failed check.
#include "../testing/table.hpp"
#include "Vsender_core.h"
#include "rate.hpp"

namespace rashpa::rtl {
namespace {

constexpr double kBar = 0.99;

Measured play(Clocked<Vsender_core>& core, std::uint32_t line, std::uint32_t dtps, Mac mac) {
  Random random(line + dtps);
  const RateRun run = rate_run(line, dtps);
  const auto bytes = random.bytes(run.memory_bytes);
  core->frames_i = 1U << 30U;
  core->arm_i = 1;
  core.cycle();
  core->arm_i = 0;
  for (std::uint32_t d = 0; d < 16; ++d) {
    write_table(*core, d, run.tables[d], [&] { core.cycle(); });
  }
  core->start_i = 1;
  core.cycle();
  core->start_i = 0;
  Memory<Vsender_core> memory(bytes, random, 100, 10);
  return measure(core, memory, mac, run.frames);
}

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa::rtl;
  Clocked<Vsender_core> core(1);
  core->abort_i = core->start_i = core->arm_i = core->pushed_mode_i = core->pushed_valid_i = 0;
  core->may_go_i = 0xFFFF;
  core->m_axi_rvalid = core->m_axi_arready = core->m_axis_tready = 0;
  core.reset();
  std::printf("{\"megahertz\": %.2f, \"rows\": [", kMegahertz);
  const char* comma = "\n ";
  for (const std::uint32_t dtps : {1U, 16U}) {
    for (const std::uint32_t line : {64U, 128U, 256U, 512U, 1024U, 2048U, 4096U}) {
      const Measured wire = play(core, line, dtps, Mac::at_100_gbps);
      const Measured free = play(core, line, dtps, Mac::every_cycle);
      std::printf(
          "%s{\"line_bytes\": %u, \"dtps\": %u, \"wire_busy\": %.4f, \"payload_gbps\": %.2f, \"free_beats_a_packet\": "
          "%.2f, "
          "\"free_cycles_a_packet\": %.2f, \"gaps\": %llu}",
          comma, line, dtps, wire.share(),
          static_cast<double>(wire.payload) * 8 / (static_cast<double>(wire.cycles) / kMegahertz) * 1e-3,
          free.of_a_packet(free.beats), free.of_a_packet(free.cycles),
          static_cast<unsigned long long>(wire.gaps + free.gaps));
      comma = ",\n ";
      check(wire.gaps + free.gaps == 0, "%u B, %u DTPs: gaps inside frames", line, dtps);
      if (line >= 256) {
        check(wire.share() >= kBar, "%u B, %u DTPs: the wire is busy in %.4f of the time", line, dtps, wire.share());
      }
    }
  }
  std::printf("\n]}\n");
  std::fflush(stdout);
  return result(core.cycles());
}
