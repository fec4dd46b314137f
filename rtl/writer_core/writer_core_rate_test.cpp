// SPDX-License-Identifier: Apache-2.0
// Bytes a cycle into the host's memory by the length of a descriptor: made in hardware, and pushed by software that
// makes one in so many cycles. Card memory and host answer late and take every beat. Prints one JSON document.
#include <algorithm>
#include <bit>
#include <vector>

#include "../sender/card_memory.hpp"
#include "../testing/structs.hpp"
#include "../testing/table.hpp"
#include "Vwriter_core.h"
#include "host_memory.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"

namespace rashpa::rtl {
namespace {

using Core = Clocked<Vwriter_core>;
constexpr double kMegahertz = 250;       // of the user's side of PCIe, 64 bytes a cycle
constexpr std::uint32_t kLatency = 125;  // cycles, up to twice as many: 0.5 to 1 µs
constexpr std::uint64_t kLinesAt = 0x1'0000'0000, kRecordsAt = 0x2'0000'0000, kLockAt = 0x3'0000'0000;
constexpr std::uint32_t kImages = 4;

/// Cycles from one descriptor of software to the next; 0: the card makes them.
struct Way {
  const char* name;
  std::uint32_t cycles;
};
// The ring takes one in 14 cycles, its registers, at four cycles a word, one in 28; the others stand for software.
constexpr std::array kWays{Way{"made in hardware", 0}, Way{"pushed, limit of the ring", 14},
                           Way{"pushed, limit of the registers", 28}, Way{"pushed, one in 0.4 us", 100},
                           Way{"pushed, one in 2 us", 500}};

struct Measured {
  double cycles;  // a descriptor
  double gigabytes;
};

class Run {
 public:
  Run(Core& core, std::uint32_t bytes, Way way)
      : core_(core), bytes_(bytes), lines_(std::clamp(1U << 18U >> std::bit_width(bytes), 8U, 512U)), way_(way) {}

  Measured play() {
    const std::uint64_t slot = std::uint64_t{bytes_} * lines_;
    const link::fpga::FrameRing ring{.address = 0,
                                     .stride = (link::fpga::FrameRing::kPixels + slot + 63) / 64 * 64,
                                     .frames = 1,
                                     .pitch_bytes = bytes_,
                                     .pixel_bytes = 1};
    link::fpga::CardDtp dtp{.id = 0, .region = {0, 0, bytes_, lines_}, .images = kImages};
    // A gap behind each line at the host, so that lines are not merged.
    dtp.placement.pixels_offset = kLinesAt;
    dtp.placement.records_offset = kRecordsAt;
    dtp.placement.slot_bytes = (bytes_ + 64ULL) * lines_;
    dtp.placement.slots = 2;
    dtp.placement.pitch = bytes_ + 64ULL;
    dtp.placement.line_bytes = bytes_;
    dtp.placement.lines = lines_;
    link::fpga::CardPackets packets{
        .pmtu = 4096, .packetisation = link::Packetisation::first_middle_last, .largest_message = 1U << 20U};
    card::registers::DtpTable table;
    link::fpga::set_transfer(table, dtp, ring, packets);
    link::fpga::set_path(table, {.qpn = 1});
    table.dtp_paced = true;
    load(table);
    return measured(ring.stride);
  }

 private:
  void load(const card::registers::DtpTable& table) {
    core_->arm_i = 1;
    core_.cycle();
    core_->arm_i = 0;
    const auto cycle = [&] { core_.cycle(); };
    for (std::uint32_t d = 0; d < 16; ++d) {
      write_table(*core_, d, d == 0 ? table : card::registers::DtpTable{}, cycle);
      constexpr std::array<std::uint64_t, 4> kBegins{kLinesAt, kRecordsAt, kLockAt, 0};
      for (std::uint32_t e = 0; e < 4; ++e) {
        write_entry(*core_, d, e, kBegins[e], kBegins[e] == 0 ? 0 : kBegins[e] + (1ULL << 31U), kBegins[e], cycle);
      }
    }
    write_lock_offset(*core_, 0, kLockAt, cycle);
  }

  // What software pushes: line by line, then the record.
  void push(std::uint64_t cycle) {
    const bool due = way_.cycles != 0 && pushed_ < std::uint64_t{kImages} * (lines_ + 1) && cycle >= next_at_;
    core_->pushed_valid_i = due;
    if (!due) return;
    const std::uint64_t line = pushed_ % (lines_ + 1), image = pushed_ / (lines_ + 1);
    const bool record = line == lines_;
    auto& to = core_->pushed_i;
    for (int word = 0; word < 10; ++word) to[word] = 0;
    set(to, descriptor::event_record, record);
    set(to, descriptor::source, record ? 0 : link::fpga::FrameRing::kPixels + line * bytes_);
    set(to, descriptor::destination,
        record ? kRecordsAt + image % 2 * 128 : kLinesAt + (image % 2 * lines_ + line) * (bytes_ + 64ULL));
    set(to, descriptor::bytes, record ? 128 : bytes_);
    set(to, descriptor::immediate, image);
  }

  Measured measured(std::uint64_t memory_bytes) {
    Random random(bytes_);
    const auto bytes = random.bytes((memory_bytes + 8191) / 4096 * 4096);
    Memory<Vwriter_core> card(bytes, random, kLatency, 0);
    HostMemory<Vwriter_core> host(random, kLatency, 0);
    std::uint64_t locks = 0, first = 0, last = 0, written = 0, cycle = 0;
    host.written = [](const auto& /*beat*/) {};
    host.taken = [&](const auto& beat) {
      if (written == 0) first = cycle;
      written += static_cast<std::uint64_t>(std::popcount(beat.strobe));
      last = cycle;
      if (beat.address < kLockAt) return;
      ++locks;
    };
    core_->pushed_mode_i = way_.cycles != 0;
    core_->start_i = 1;
    for (; locks < kImages && cycle < 20'000'000; ++cycle) {
      push(cycle);
      card.show(*core_, cycle);
      host.show(*core_, cycle);
      core_->eval();
      card.take(*core_, cycle);
      host.take(*core_, cycle);
      if (core_->pushed_valid_i && core_->pushed_ready_o) {
        ++pushed_;
        next_at_ = cycle + way_.cycles;
      }
      core_.cycle();
      core_->start_i = 0;
    }
    const std::uint64_t descriptors = std::uint64_t{kImages} * lines_;
    check(locks == kImages && written == descriptors * bytes_ + kImages * 132ULL, "%u bytes, %s: %llu bytes", bytes_,
          way_.name, static_cast<unsigned long long>(written));
    for (int i = 0; i < 2000; ++i) {
      card.show(*core_, ~0ULL / 2);
      host.show(*core_, ~0ULL / 2);
      core_->eval();
      host.take(*core_, 0);
      core_.cycle();
    }
    check(core_->idle_o != 0, "%u bytes, %s: not idle", bytes_, way_.name);
    const auto cycles = static_cast<double>(last - first + 1);
    return {cycles / static_cast<double>(descriptors),
            static_cast<double>(descriptors) * bytes_ / cycles * kMegahertz * 1e-3};
  }

  Core& core_;
  std::uint32_t bytes_, lines_;
  Way way_;
  std::uint64_t pushed_ = 0, next_at_ = 0;
};

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa::rtl;
  Core core(1);
  core->abort_i = core->start_i = core->arm_i = core->pushed_mode_i = core->pushed_valid_i = 0;
  core->granted_i = 0;
  core->frames_i = 1U << 30U;
  core->may_go_i = 0xFFFF;
  core->table_i = core->addresses_i = 0;
  core->m_axi_rvalid = core->m_axi_arready = core->m_axi_awready = core->m_axi_wready = core->m_axi_bvalid = 0;
  core.reset();
  std::printf("{\"megahertz\": %.0f, \"rows\": [", kMegahertz);
  const char* comma = "\n ";
  for (const Way& way : kWays) {
    for (const std::uint32_t bytes : {64U, 128U, 256U, 512U, 1024U, 2048U, 4096U, 16'384U, 65'536U}) {
      const Measured found = Run(core, bytes, way).play();
      std::printf("%s{\"descriptor_bytes\": %u, \"way\": \"%s\", \"cycles_a_descriptor\": %.2f, \"gb_s\": %.2f}", comma,
                  bytes, way.name, found.cycles, found.gigabytes);
      comma = ",\n ";
      if (way.cycles == 0 && bytes >= 256)
        check(found.gigabytes >= 12.0, "%u bytes: %.2f GB/s", bytes, found.gigabytes);
    }
  }
  std::printf("\n]}\n");
  std::fflush(stdout);
  return result(core.cycles());
}
