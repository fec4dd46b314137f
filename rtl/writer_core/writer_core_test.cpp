// SPDX-License-Identifier: Apache-2.0
// Random DTPs, played by the RTL and by software: at each lock word the host has the image and its record byte for
// byte, although it shows a write only when it answers it, and no byte but those of the run was written. Every third
// run is aborted at some cycle. In some card memory refuses a read, the host a write, or a window is a byte too short:
// the DTP is named, the image of it is never announced, nothing outside is written; the next run is right.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "../sender/card_memory.hpp"
#include "../sender/software.hpp"
#include "../testing/structs.hpp"
#include "../testing/table.hpp"
#include "Vwriter_core.h"
#include "host_memory.hpp"

namespace rashpa::rtl {
namespace {

using Core = Clocked<Vwriter_core>;
using Host = HostMemory<Vwriter_core>;
enum class Trouble : std::uint8_t { none, read, write, outside };

/// A DTP, what software makes of it, and its windows: lines, records, lock word.
struct Played {
  Play play;
  Expected expected;
  std::array<Window, 3> windows;
  std::size_t announced = 0;
};

constexpr std::size_t kLines = 0, kRecords = 1, kLock = 2;

/// One configuration, from Arm to the last lock word.
class Run {
 public:
  explicit Run(Core& core) : core_(core) {}

  /// Configuration `number` of `seed`: the same whichever others were played before it.
  void operator()(std::uint64_t seed, std::uint64_t number) {
    random_ = Random(seed << 40U | number);
    number_ = number;
    abort_at_ = number % 3 == 1 ? random_(0, random_.chance(50) ? 300 : random_.chance(50) ? 3000 : 20'000) : ~0ULL;
    constexpr std::array kTroubles{Trouble::read, Trouble::write, Trouble::outside};
    trouble_ = number % 3 == 0 && number % 4 != 0 ? kTroubles[number / 3 % 3] : Trouble::none;
    const std::uint32_t count = random_.chance(20) ? 16 : random_(1, 4);
    std::uint64_t end = random_(0, 5000);
    std::vector<Play> plays;
    for (std::uint32_t d = 0; d < count; ++d) {
      plays.push_back(random_play(random_, random_(0, 15) * 16 + d, end));
      Play& play = plays.back();
      // Without credits, a later image may lie in the slot before the lock word is seen.
      if (play.dtp.images > play.dtp.placement.slots) play.table.dtp_paced = false;
    }
    memory_ = random_.bytes((end + 4095) / 4096 * 4096 + 64);
    for (const Play& play : plays) make_templates(play);
    dtps_.clear();
    std::uint64_t address = std::uint64_t{random_.word()} << 16U;
    for (const Play& play : plays) {
      dtps_.push_back({play, Software(play, memory_).all(), {}});
      make_windows(dtps_.back(), address);
    }
    troubled_ = random_(0, count - 1);
    load();
    play();
  }
  std::uint64_t aborts = 0, whole = 0;
  std::array<std::uint64_t, 4> troubles{};

 private:
  void make_templates(const Play& play) {
    for (std::uint64_t f = 0; f < play.frames.frames; ++f) {
      const std::uint64_t at = play.frames.address + f * play.frames.stride;
      std::array<std::uint64_t, 6> user{};
      for (auto& word : user) word = random_.word();
      link::fpga::record_template(std::span<std::byte, FrameRecord::kBytes>(memory_.data() + at, FrameRecord::kBytes),
                                  f, random_.word(), random_(0, 3), user);
    }
  }

  void make_windows(Played& dtp, std::uint64_t& address) {
    const Placement& to = dtp.play.dtp.placement;
    const std::uint64_t base = dtp.play.dtp.base;
    const std::uint64_t lines = base + to.pixels_offset + to.first_line_offset;
    const std::uint64_t lines_bytes = (to.slots - 1) * to.slot_bytes + (to.lines - 1) * to.pitch + to.line_bytes;
    const std::uint64_t records = base + to.records_offset;
    const std::uint64_t records_bytes = std::uint64_t{to.slots} * FrameRecord::kBytes;
    const std::uint64_t lock = 1ULL << 60 | std::uint64_t{random_.word()} << 2;
    // Anywhere, or as the host's pages are; a lock word at a multiple of 4.
    const auto window = [&](std::uint64_t begin, std::uint64_t bytes, std::uint32_t aligned) {
      address = (address + random_(0, 100'000) + aligned - 1) / aligned * aligned;
      Window made{begin, begin + bytes, address, random_.bytes(bytes)};
      address += bytes;
      return made;
    };
    dtp.windows = {window(lines, lines_bytes, random_.chance(50) ? 4096 : 1),
                   window(records, records_bytes, random_.chance(50) ? 64 : 1), window(lock, 4, 4)};
  }

  void load() {
    core_->arm_i = 1;
    core_.cycle();
    core_->arm_i = 0;
    const auto cycle = [&] { core_.cycle(); };
    for (std::uint32_t d = 0; d < 16; ++d) {
      write_table(*core_, d, d < dtps_.size() ? dtps_[d].play.table : card::registers::DtpTable{}, cycle);
    }
    for (std::uint32_t d = 0; d < dtps_.size(); ++d) {
      std::array<std::uint32_t, 4> entries{0, 1, 2, 3};
      for (std::uint32_t i = 3; i > 0; --i) std::swap(entries[i], entries[random_(0, i)]);
      for (std::size_t w = 0; w < 3; ++w) {
        const Window& window = dtps_[d].windows[w];
        std::uint64_t begin = window.begin, end = window.end;
        if (trouble_ == Trouble::outside && d == troubled_ && w == number_ / 9 % 3) {
          // Slots behind the last image are not used.
          const CardDtp& dtp = dtps_[d].play.dtp;
          if (random_.chance(50) || dtp.images < dtp.placement.slots) {
            ++begin;
          } else {
            --end;
          }
        }
        write_entry(*core_, d, entries[w], begin, end, window.address + (begin - window.begin), cycle);
      }
      write_entry(*core_, d, entries[3], 0, 0, random_.word(), cycle);
      write_lock_offset(*core_, d, dtps_[d].windows[kLock].begin, cycle);
    }
  }

  // The number of the window's DTP and the window that has the byte.
  std::pair<std::size_t, std::size_t> place_of(std::uint64_t at) const {
    for (std::size_t d = 0; d < dtps_.size(); ++d) {
      for (std::size_t w = 0; w < 3; ++w) {
        if (dtps_[d].windows[w].has(at)) return {d, w};
      }
    }
    return {dtps_.size(), 0};
  }

  void taken(const Host::Beat& beat) {
    for (std::uint32_t lane = 0; lane < 64; ++lane) {
      if ((beat.strobe >> lane & 1U) == 0) continue;
      const auto [d, w] = place_of(beat.address + lane);
      if (!check(d < dtps_.size(), "configuration %llu: a byte outside of every window: %llx",
                 static_cast<unsigned long long>(number_), static_cast<unsigned long long>(beat.address + lane))) {
        return;
      }
      if (w == kLock && beat.address + lane == dtps_[d].windows[kLock].address) announced(d, beat, lane);
    }
  }

  // A lock word is on its way: its image is there.
  void announced(std::size_t d, const Host::Beat& beat, std::uint32_t lane) {
    Played& dtp = dtps_[d];
    const std::size_t image = dtp.announced++;
    std::uint32_t immediate = 0;
    std::memcpy(&immediate, beat.data.data() + lane, 4);
    check(beat.strobe == 0xFULL << lane, "a lock word of other than four bytes");
    if (!check(image < dtp.expected.records.size(), "a lock word too many")) return;
    check(immediate == immediate_of(dtp.play.dtp.id, image), "the lock word %x of image %zu", immediate, image);
    const auto& record = dtp.expected.records[image];
    const std::uint64_t record_at = dtp.play.dtp.base + dtp.play.dtp.placement.record_offset(image);
    check(holds(dtp.windows[kRecords], record_at, record), "configuration %llu: DTP %zu, image %zu: not its record",
          static_cast<unsigned long long>(number_), d, image);
    for (std::size_t i = image == 0 ? 0 : dtp.expected.ends[image - 1]; i < dtp.expected.ends[image]; ++i) {
      const link::BufferDescriptor& line = dtp.expected.descriptors[i];
      check(holds(dtp.windows[kLines], dtp.play.dtp.base + line.destination, {line.source, line.bytes}),
            "configuration %llu: DTP %zu, image %zu: not its line %zu", static_cast<unsigned long long>(number_), d,
            image, i);
    }
    --left_;
    quiet_ = 0;
  }
  static bool holds(const Window& window, std::uint64_t at, std::span<const std::byte> bytes) {
    return std::memcmp(window.bytes.data() + (at - window.begin), bytes.data(), bytes.size()) == 0;
  }

  void written(const Host::Beat& beat) {
    for (std::uint32_t lane = 0; lane < 64; ++lane) {
      const auto [d, w] = place_of(beat.address + lane);
      if ((beat.strobe >> lane & 1U) == 0 || d == dtps_.size()) continue;
      Window& window = dtps_[d].windows[w];
      window.bytes[beat.address + lane - window.address] = beat.data[lane];
    }
  }

  // What the windows hold behind a whole run.
  std::vector<std::vector<std::byte>> whole_windows() const {
    std::vector<std::vector<std::byte>> made;
    for (const Played& dtp : dtps_) {
      for (std::size_t w = 0; w < 2; ++w) made.push_back(dtp.windows[w].bytes);
      const std::uint64_t base = dtp.play.dtp.base;
      std::vector<std::byte>& lines = made[made.size() - 2];
      for (const link::BufferDescriptor& line : dtp.expected.descriptors) {
        std::copy_n(line.source, line.bytes, lines.data() + (base + line.destination - dtp.windows[kLines].begin));
      }
      for (std::size_t i = 0; i < dtp.expected.records.size(); ++i) {
        std::ranges::copy(
            dtp.expected.records[i],
            made.back().data() + (base + dtp.play.dtp.placement.record_offset(i) - dtp.windows[kRecords].begin));
      }
    }
    return made;
  }

  void look_at_errors(const Host& host, std::uint64_t cycle) {
    const bool read = core_->read_error_o, write = core_->write_error_o, outside = core_->outside_o;
    if (!read && !write && !outside) return;
    const auto is = [&](Trouble kind, bool seen, std::uint64_t dtp, std::uint64_t wanted) {
      if (!seen) return;
      check(trouble_ == kind && dtp == wanted, "configuration %llu: error %u of DTP %llu, not of %llu",
            static_cast<unsigned long long>(number_), static_cast<unsigned>(kind), static_cast<unsigned long long>(dtp),
            static_cast<unsigned long long>(wanted));
    };
    is(Trouble::read, read, core_->read_error_dtp_o, troubled_);
    is(Trouble::outside, outside, core_->outside_dtp_o, troubled_);
    if (write) {
      std::size_t owner = dtps_.size();
      for (std::uint32_t lane = 0; lane < 64 && !host.refused.empty(); ++lane) {
        if (host.refused[0].strobe >> lane & 1U) owner = place_of(host.refused[0].address + lane).first;
      }
      troubled_ = owner;
      is(Trouble::write, write, core_->write_error_dtp_o, owner);
    }
    if (outside) {
      const auto& windows = dtps_[troubled_].windows;
      const std::uint64_t at = core_->outside_offset_o;
      check(std::ranges::any_of(windows, [&](const Window& window) { return at >= window.begin && at < window.end; }),
            "the offset %llx of an error is none of the DTP", static_cast<unsigned long long>(at));
    }
    if (!seen_) abort_at_ = cycle + random_(1, 10);
    seen_ = true;
    if (!outside) closed_from_ = std::min(closed_from_, cycle + 2);
  }

  void play() {
    Memory<Vwriter_core> card(memory_, random_, random_.chance(50) ? random_(0, 10) : random_(20, 200),
                              random_.chance(50) ? 0 : random_(1, 60));
    Host host(random_, random_.chance(50) ? random_(0, 10) : random_(20, 400), random_.chance(50) ? 0 : random_(1, 70));
    host.taken = [this](const Host::Beat& beat) { taken(beat); };
    host.written = [this](const Host::Beat& beat) { written(beat); };
    if (trouble_ == Trouble::write) host.refuses = random_(0, 60);
    if (trouble_ == Trouble::read) {
      const auto& sources = dtps_[troubled_].expected.sources;
      const auto& [from, bytes] = sources[random_(0, static_cast<std::uint32_t>(sources.size()) - 1)];
      card.refuses = (from + random_(0, static_cast<std::uint32_t>(bytes) - 1)) / 64 * 64;
    }
    const auto whole_memory = whole_windows();
    left_ = 0;
    quiet_ = 0;
    seen_ = false;
    closed_from_ = ~0ULL;
    std::uint64_t idle = 0;
    for (std::size_t d = 0; d < dtps_.size(); ++d) {
      granted_[d] = 0;
      frames_[d] = random_.chance(50) ? 1U << 30U : 0;
      left_ += dtps_[d].expected.records.size();
    }
    core_->start_i = 1;
    for (std::uint64_t cycle = 0; (left_ > 0 || core_->abort_i) && quiet_ < 30'000 && idle < kIdle; ++cycle, ++quiet_) {
      if (cycle == abort_at_) core_->abort_i = 1;
      const std::uint32_t d = random_(0, static_cast<std::uint32_t>(dtps_.size()) - 1);
      if (granted_[d] < dtps_[d].announced + dtps_[d].play.dtp.placement.slots && random_.chance(20)) ++granted_[d];
      if (frames_[d] < (1U << 30U) && random_.chance(30)) ++frames_[d];
      core_->granted_i = granted_[core_->dtp_o];
      core_->frames_i = frames_[core_->dtp_o];
      card.show(*core_, cycle);
      // What comes with an error is nothing.
      for (int i = 0; i < 16 && core_->m_axi_rvalid && core_->m_axi_rresp; ++i) core_->m_axi_rdata[i] = random_.word();
      host.show(*core_, cycle);
      core_->eval();
      card.take(*core_, cycle);
      host.take(*core_, cycle);
      check(cycle < closed_from_ || (!core_->begins_o && !core_->locks_o),
            "configuration %llu: a write begins behind an error", static_cast<unsigned long long>(number_));
      look_at_errors(host, cycle);
      idle = core_->abort_i && core_->idle_o ? idle + 1 : 0;
      if (idle != 0) {
        check(card.idle() && host.idle(), "configuration %llu: idle too early",
              static_cast<unsigned long long>(number_));
      }
      core_.cycle();
      core_->start_i = 0;
    }
    ended(card, host, whole_memory, idle);
  }

  void ended(Memory<Vwriter_core>& card, Host& host, const std::vector<std::vector<std::byte>>& whole_memory,
             std::uint64_t idle) {
    if (seen_) ++troubles[static_cast<std::size_t>(trouble_)];
    if (core_->abort_i) {
      check(idle == kIdle, "configuration %llu: not idle behind Abort at cycle %llu",
            static_cast<unsigned long long>(number_), static_cast<unsigned long long>(abort_at_));
      core_->abort_i = 0;
      ++aborts;
      return;
    }
    check(left_ == 0, "configuration %llu: %llu images were not announced", static_cast<unsigned long long>(number_),
          static_cast<unsigned long long>(left_));
    for (int i = 0; i < 1000 && !host.idle(); ++i) {
      card.show(*core_, ~0ULL / 2);
      host.show(*core_, ~0ULL / 2);
      core_->eval();
      host.take(*core_, 0);
      seen_ |= core_->write_error_o != 0;
      core_.cycle();
    }
    for (int i = 0; i < 3; ++i) {
      core_->m_axi_bvalid = 0;
      seen_ |= core_->write_error_o != 0;
      core_.cycle();
    }
    check(seen_ || trouble_ == Trouble::none || (trouble_ == Trouble::write && host.refuses >= host.bursts()),
          "configuration %llu: an error was not said", static_cast<unsigned long long>(number_));
    check(core_->idle_o != 0 && host.idle(), "configuration %llu: not idle behind the run",
          static_cast<unsigned long long>(number_));
    for (std::size_t d = 0; d < dtps_.size(); ++d) {
      for (std::size_t w = 0; w < 2; ++w) {
        check(dtps_[d].windows[w].bytes == whole_memory[2 * d + w],
              "configuration %llu: DTP %zu: bytes that the run does not write",
              static_cast<unsigned long long>(number_), d);
      }
    }
    ++whole;
  }

  static constexpr std::uint64_t kIdle = 8;  // cycles, as the registers want them
  Core& core_;
  Random random_;
  std::vector<Played> dtps_;
  Bytes memory_;
  std::uint64_t number_ = 0, abort_at_ = 0, left_ = 0, quiet_ = 0;
  Trouble trouble_ = Trouble::none;
  std::size_t troubled_ = 0;
  std::uint64_t closed_from_ = ~0ULL;  // the cycle from which no write may begin
  bool seen_ = false;
  std::array<std::uint32_t, 16> granted_{}, frames_{};
};

}  // namespace
}  // namespace rashpa::rtl

// Arguments: how many configurations, of which seed, from which number on.
int main(int argc, char** argv) {
  using namespace rashpa::rtl;
  const auto argument = [&](int n, std::uint64_t otherwise) {
    return argc > n ? std::strtoull(argv[n], nullptr, 10) : otherwise;
  };
  const std::uint64_t runs = argument(1, 240), seed = argument(2, 1), first = argument(3, 0);
  Core core(seed);
  core->abort_i = core->start_i = core->arm_i = core->pushed_mode_i = core->pushed_valid_i = 0;
  core->may_go_i = 0xFFFF;
  core->table_i = core->addresses_i = 0;
  core->m_axi_rvalid = core->m_axi_arready = core->m_axi_awready = core->m_axi_wready = core->m_axi_bvalid = 0;
  core.reset();
  Run run(core);
  for (std::uint64_t n = first; n < first + runs && checks().failed < 10; ++n) run(seed, n);
  std::printf("%llu whole, %llu aborted; errors of reads %llu, of writes %llu, outside %llu\n",
              static_cast<unsigned long long>(run.whole), static_cast<unsigned long long>(run.aborts),
              static_cast<unsigned long long>(run.troubles[1]), static_cast<unsigned long long>(run.troubles[2]),
              static_cast<unsigned long long>(run.troubles[3]));
  if (runs >= 100) {
    check(run.whole != 0 && run.aborts != 0, "no run was whole, or none aborted");
    for (std::size_t t = 1; t < 4; ++t) check(run.troubles[t] != 0, "no run with trouble %zu", t);
  }
  return result(core.cycles());
}
