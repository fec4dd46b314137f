// SPDX-License-Identifier: Apache-2.0
/// What `rashpa bench rtl` runs: the simulated sender beside a MAC of 100 Gb/s, and beside one that takes a beat each
/// cycle, by length of lines and number of DTPs, with memory that answers late and pauses at random. Cycles: no clock
/// is shown. Then the processing unit, unless a length of lines is given.
#include <Vsender.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/card/registers.hpp"
#include "rashpa/core/error.hpp"
#include "sender/rate.hpp"
#include "unit_rows.hpp"

namespace rashpa::sim {
namespace {

namespace registers = card::registers;
using rtl::Mac;
using rtl::Measured;

struct Options {
  std::uint32_t latency = 100;  ///< cycles; a read takes this long to twice as long
  std::uint32_t stall = 10;     ///< percent of the cycles in which memory gives nothing
  std::uint32_t seed = 1;
  std::uint32_t line = 0;  ///< 0: all lengths
};

Options parse(int count, char** words) {
  Options options;
  const std::map<std::string_view, std::uint32_t*> numbers{{"--latency", &options.latency},
                                                           {"--stall", &options.stall},
                                                           {"--seed", &options.seed},
                                                           {"--line-bytes", &options.line}};
  for (int i = 1; i < count; ++i) {
    const std::string_view name = words[i];
    if (name == "--json") continue;
    const auto found = numbers.find(name);
    const std::string_view value = i + 1 < count ? words[i + 1] : "";
    const char* const end = value.data() + value.size();
    if (found == numbers.end() || value.empty() || std::from_chars(value.data(), end, *found->second).ptr != end) {
      throw ConfigError(fmt::format(
          "bench rtl: '{}' '{}'; give --latency CYCLES, --stall PERCENT, --seed N, --line-bytes N", name, value));
    }
    ++i;
  }
  if (options.stall > 90 || options.latency > 100'000) {
    throw ConfigError(
        "bench rtl: memory that stalls in more than 90 % of the cycles, or answers after more than 100000");
  }
  if (options.line % 2 != 0 || options.line > 4096) {
    throw ConfigError(fmt::format("bench rtl: lines of {} bytes; an even number up to 4096", options.line));
  }
  return options;
}

/// The whole sender, as software sees it.
class Sender {
 public:
  Sender() {
    model_->s_axil_awvalid = model_->s_axil_wvalid = model_->s_axil_arvalid = 0;
    model_->s_axil_wstrb = 15;
    model_->s_axil_bready = model_->s_axil_rready = 1;
    model_->m_axi_arready = model_->m_axi_rvalid = 0;
    model_->m_axis_tready = model_->s_axis_tvalid = 0;
    model_.reset(8);
  }

  Measured play(const Options& options, std::uint32_t line, std::uint32_t dtps, Mac mac) {
    namespace doorbells = registers::doorbells;
    rtl::Random random(options.seed);
    const rtl::RateRun run = rtl::rate_run(line, dtps);
    const auto bytes = random.bytes(run.memory_bytes);
    ++runs_;
    for (std::uint32_t d = 0; d < run.tables.size(); ++d) {
      std::uint32_t at = registers::dtp_table::at(d);
      for (const std::uint32_t word : words_of(run.tables[d])) {
        write(at, word);
        at += sizeof word;
      }
      write(doorbells::kFramesAvailable + 4 * d, 0);
    }
    write(doorbells::kArm, runs_);
    for (int i = 0; i < kCheckCycles; ++i) model_.cycle();
    for (std::uint32_t d = 0; d < dtps; ++d) write(doorbells::kFramesAvailable + 4 * d, 1U << 30U);
    write(doorbells::kStart, runs_);
    rtl::Memory<Vsender> memory(bytes, random, options.latency, options.stall);
    const Measured measured = rtl::measure(model_, memory, mac, run.frames);
    model_->m_axi_arready = model_->m_axi_rvalid = 0;
    for (int i = 0; i < kCheckCycles; ++i) model_.cycle();  // it says that it is done
    return measured;
  }

 private:
  static constexpr int kCheckCycles = 2000;  // the table is walked in half as many

  void write(std::uint32_t address, std::uint32_t value) {
    model_->s_axil_awaddr = static_cast<std::uint16_t>(address);
    model_->s_axil_wdata = value;
    model_->s_axil_awvalid = model_->s_axil_wvalid = 1;
    for (bool answered = false; !answered;) {
      model_->eval();
      const bool address_taken = model_->s_axil_awvalid && model_->s_axil_awready;
      const bool data_taken = model_->s_axil_wvalid && model_->s_axil_wready;
      answered = model_->s_axil_bvalid != 0;
      if (answered && model_->s_axil_bresp != 0) {
        throw StateError(fmt::format("bench rtl: the sender refuses a write of {:#x} to {:#x}", value, address));
      }
      model_.cycle();
      if (address_taken) model_->s_axil_awvalid = 0;
      if (data_taken) model_->s_axil_wvalid = 0;
    }
  }

  rtl::Clocked<Vsender> model_{1};
  std::uint32_t runs_ = 0;
};

void print_rows(const std::string& what, std::uint32_t line, std::uint32_t dtps, const Measured& free,
                const Measured& wire) {
  const auto row = [&](const char* of, double value, const char* unit, const char* against, double against_value) {
    fmt::print(
        "{{\"what\": \"{}: {}\", \"value\": {:.4f}, \"unit\": \"{}\", \"against\": \"{}\", \"against_value\": {:.4f}, "
        "\"line_bytes\": {}, \"dtps\": {}}}\n",
        what, of, value, unit, against, against_value, line, dtps);
  };
  const double wire_cycles = wire.wire / static_cast<double>(wire.packets + wire.events);
  row("beats a packet", free.of_a_packet(free.beats), "beats", "cycles of 100 Gb/s at 322.27 MHz", wire_cycles);
  row("cycles a packet", free.of_a_packet(free.cycles), "cycles", "cycles of 100 Gb/s at 322.27 MHz", wire_cycles);
  row("the wire is busy", wire.share(), "of its cycles", "all", 1.0);
  fmt::print(
      "{{\"what\": \"{}: cycles inside frames without a beat\", \"value\": {}, \"unit\": \"cycles\", \"against\": "
      "\"none\", \"line_bytes\": {}, \"dtps\": {}}}\n",
      what, free.gaps + wire.gaps, line, dtps);
}

int run(const Options& options) {
  Sender sender;
  const std::vector<std::uint32_t> lines =
      options.line != 0 ? std::vector{options.line} : std::vector{64U, 128U, 256U, 512U, 1024U, 2048U, 4096U};
  std::uint64_t gaps = 0;
  for (const std::uint32_t dtps : {1U, 16U}) {
    for (const std::uint32_t line : lines) {
      const Measured free = sender.play(options, line, dtps, Mac::every_cycle);
      const Measured wire = sender.play(options, line, dtps, Mac::at_100_gbps);
      print_rows(fmt::format("{} B, {} DTP{}", line, dtps, dtps == 1 ? "" : "s"), line, dtps, free, wire);
      gaps += free.gaps + wire.gaps;
    }
  }
  const bool unit = options.line != 0 || print_unit_rows(options.latency, options.seed);
  return gaps == 0 && unit && rtl::checks().failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rashpa::sim

int main(int count, char** words) {
  try {
    return rashpa::sim::run(rashpa::sim::parse(count, words));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
