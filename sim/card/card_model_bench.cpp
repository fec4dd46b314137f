// SPDX-License-Identifier: Apache-2.0
// How many cycles of the simulated card one core computes a second of its time: sending, and with nothing to do.
#include <fmt/format.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "card_model.hpp"
#include "rashpa/card/registers.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"

namespace rashpa::sim {
namespace {

namespace registers = card::registers;
constexpr std::uint64_t kMemory = 16 << 20;
constexpr std::uint32_t kLines = 512;

double processor_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A DTP of lines of `bytes` each that never ends, without credits.
registers::DtpTable table(std::uint32_t bytes) {
  registers::DtpTable table;
  const link::fpga::FrameRing ring{
      .stride = (128 + (bytes + 2ULL) * kLines + 63) / 64 * 64, .frames = 2, .pitch_bytes = bytes + 2ULL};
  link::fpga::CardDtp dtp{.region = {0, 0, bytes / 2, kLines}, .images = 1U << 20U};
  dtp.placement = {
      .slot_bytes = std::uint64_t{bytes} * kLines, .slots = 2, .pitch = bytes, .line_bytes = bytes, .lines = kLines};
  link::fpga::set_transfer(table, dtp, ring, {});
  link::fpga::set_path(table, {});
  table.dtp_paced = true;
  return table;
}

struct Rate {
  double cycles_per_s = 0;
  double wire_bytes_per_cycle = 0;
};

Rate measure(std::uint32_t line, double seconds) {
  const std::vector<std::byte> memory(kMemory, std::byte{0x5A});
  std::uint64_t bytes = 0;
  CardModel model(memory, [&](std::span<const std::byte> frame) {
    bytes += frame.size();
    return true;
  });
  if (line != 0) {
    const auto words = registers::words_of(table(line));
    for (std::uint32_t dtp = 0; dtp < registers::dtp_table::kCount; ++dtp) {
      for (std::uint32_t i = 0; i < words.size(); ++i) {
        model.write(registers::dtp_table::at(dtp) + 4 * i, dtp == 0 ? words[i] : 0);
      }
    }
    model.write(registers::doorbells::kArm, 1);
    model.step(10'000);
    model.write(registers::doorbells::kFramesAvailable, 1U << 30U);
    model.write(registers::doorbells::kStart, 1);
  }
  model.step(5'000);
  bytes = 0;
  const std::uint64_t before = model.cycles();
  const double start = processor_s();
  while (processor_s() - start < seconds) model.step(1'000);
  const auto cycles = static_cast<double>(model.cycles() - before);
  return {cycles / (processor_s() - start), static_cast<double>(bytes) / cycles};
}

int run(double seconds) {
  bool sent = true;
  fmt::print("{{\"rows\": [");
  const char* comma = "";
  for (const std::uint32_t line : {0U, 256U, 1024U, 4096U}) {
    const Rate rate = measure(line, seconds);
    sent = sent && (line == 0 || rate.wire_bytes_per_cycle > 0);
    fmt::print(
        "{}\n{{\"what\": \"{}\", \"value\": {:.0f}, \"unit\": \"cycles/s of one core\", \"bytes_per_cycle\": {:.1f}}}",
        comma, line == 0 ? std::string("idle") : fmt::format("sending lines of {} B", line), rate.cycles_per_s,
        rate.wire_bytes_per_cycle);
    comma = ",";
  }
  fmt::print("\n]}}\n");
  return sent ? 0 : 1;
}

}  // namespace
}  // namespace rashpa::sim

int main(int count, char** words) { return rashpa::sim::run(count > 1 ? std::atof(words[1]) : 2.0); }
