// SPDX-License-Identifier: Apache-2.0
// Random DTPs, played by the RTL and by software: the same descriptors, and frames that are equal byte for byte. Every
// third run is aborted at some cycle: what comes are whole frames, in order, until all is idle; the next run is right.
// In every twelfth one memory refuses a read: nothing of it leaves, nor what is behind it.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "../testing/structs.hpp"
#include "../testing/table.hpp"
#include "Vsender_core.h"
#include "card_memory.hpp"
#include "software.hpp"

namespace rashpa::rtl {
namespace {

/// One configuration, from Arm to the last frame.
class Run {
 public:
  explicit Run(Clocked<Vsender_core>& core) : core_(core) {}

  /// Configuration `number` of `seed`: the same whichever others were played before it. Every third one is aborted.
  void operator()(std::uint64_t seed, std::uint64_t number) {
    random_ = Random(seed << 40U | number);
    number_ = number;
    abort_at_ = ~0ULL;
    counted_ = left_ = 0;
    if (number % 3 == 1) abort_at_ = random_(0, random_.chance(50) ? 200 : random_.chance(50) ? 2000 : 20'000);
    const std::uint32_t dtps = random_.chance(30) ? 16 : random_(1, 4);
    std::uint64_t end = random_(0, 5000);
    std::vector<Play> plays;
    for (std::uint32_t d = 0; d < dtps; ++d) plays.push_back(random_play(random_, random_(0, 15) * 16 + d, end));
    Bytes memory = random_.bytes((end + 4095) / 4096 * 4096 + 64);
    for (const Play& play : plays) {
      for (std::uint64_t f = 0; f < play.frames.frames; ++f) {
        const std::uint64_t at = play.frames.address + f * play.frames.stride;
        std::array<std::uint64_t, 6> user{};
        for (auto& word : user) word = random_.word();
        link::fpga::record_template(std::span<std::byte, FrameRecord::kBytes>(memory.data() + at, FrameRecord::kBytes),
                                    f, random_.word(), random_(0, 3), user);
      }
    }
    load(plays);
    std::vector<Expected> expected;
    for (const Play& play : plays) expected.push_back(Software(play, memory).all());
    play(plays, memory, expected);
  }

  [[nodiscard]] std::uint64_t aborts() const { return aborts_; }
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }
  /// Runs of which all frames came.
  [[nodiscard]] std::uint64_t whole() const { return whole_; }

 private:
  void load(const std::vector<Play>& plays) {
    core_->arm_i = 1;
    core_.cycle();
    core_->arm_i = 0;
    for (std::uint32_t d = 0; d < 16; ++d) {
      write_table(*core_, d, d < plays.size() ? plays[d].table : card::registers::DtpTable{}, [&] { core_.cycle(); });
    }
  }

  void play(const std::vector<Play>& plays, std::span<const std::byte> memory, const std::vector<Expected>& expected) {
    Memory<Vsender_core> card(memory, random_, random_.chance(50) ? random_(0, 10) : random_(20, 200),
                              random_.chance(50) ? 0 : random_(1, 60));
    const std::uint32_t slow = random_.chance(50) ? 0 : random_(1, 70);
    std::size_t refused_dtp = plays.size(), last_allowed = 0;
    if (number_ % 12 == 3) {
      refused_dtp = random_(0, static_cast<std::uint32_t>(plays.size()) - 1);
      const auto& sources = expected[refused_dtp].sources;
      const auto& [from, bytes] = sources[random_(0, static_cast<std::uint32_t>(sources.size()) - 1)];
      card.refuses = (from + random_(0, static_cast<std::uint32_t>(bytes) - 1)) / 64 * 64;
      const auto reads = [&](const auto& source) {
        return source.first < card.refuses + 64 && source.first + source.second > card.refuses;
      };
      last_allowed = static_cast<std::size_t>(std::ranges::find_if(sources, reads) - sources.begin());
    }
    bool refused = false;
    std::vector<std::size_t> sent(plays.size()), made(plays.size()), images(plays.size());
    std::size_t frames_left = 0;
    for (std::size_t d = 0; d < plays.size(); ++d) {
      granted_[d] = 0;
      frames_[d] = random_.chance(50) ? 1U << 30U : 0;
      frames_left += expected[d].frames.size();
    }
    core_->start_i = 1;
    Bytes frame;
    std::uint64_t quiet = 0, idle = 0;
    bool inside = false;
    for (std::uint64_t cycle = 0; (frames_left > 0 || core_->abort_i) && quiet < 20'000 && idle < kIdle;
         ++cycle, ++quiet) {
      if (cycle == abort_at_) core_->abort_i = 1;
      const std::uint32_t d = random_(0, static_cast<std::uint32_t>(plays.size()) - 1);
      if (granted_[d] < images[d] + plays[d].dtp.placement.slots && random_.chance(20)) ++granted_[d];
      if (frames_[d] < (1U << 30U) && random_.chance(30)) ++frames_[d];
      core_->m_axis_tready = !random_.chance(slow);
      core_->granted_i = granted_[core_->dtp_o];
      core_->frames_i = frames_[core_->dtp_o];
      card.show(*core_, cycle);
      core_->eval();
      card.take(*core_, cycle);
      if (core_->taken_o) compare(plays, expected, made, memory);
      check(!core_->fault_o, "a fault of a sender that can make none");
      counted_ += core_->progress_o >> kBegins & 1U;
      if (core_->error_o) {
        check(core_->error_dtp_o == refused_dtp, "configuration %llu: memory has refused a read of DTP %zu, not %u",
              static_cast<unsigned long long>(number_), refused_dtp, static_cast<unsigned>(core_->error_dtp_o));
        if (!refused) abort_at_ = cycle + random_(1, 10);
        refused = true;
      }
      if (inside) check(core_->m_axis_tvalid != 0, "a gap inside a frame");
      if (core_->m_axis_tvalid && core_->m_axis_tready) {
        inside = core_->m_axis_tlast == 0;
        const auto beat = bytes_of(core_->m_axis_tdata);
        const std::uint64_t keep = core_->m_axis_tkeep;
        const auto bytes = static_cast<std::size_t>(std::popcount(keep));
        check(keep == (bytes == 64 ? ~0ULL : (1ULL << bytes) - 1) && (bytes == 64 || !inside), "tkeep %llx",
              static_cast<unsigned long long>(keep));
        frame.insert(frame.end(), beat.begin(), beat.begin() + static_cast<std::ptrdiff_t>(bytes));
        if (!inside) {
          take(plays, expected, sent, images, frame);
          frame.clear();
          --frames_left;
          ++left_;
          quiet = 0;
        }
      }
      idle = core_->abort_i && core_->idle_o ? idle + 1 : 0;
      if (idle != 0) {
        check(card.idle() && !inside && !core_->m_axis_tvalid, "configuration %llu: idle too early",
              static_cast<unsigned long long>(number_));
      }
      core_.cycle();
      core_->start_i = 0;
    }
    check(counted_ == left_, "configuration %llu: %llu frames are counted, %llu have left",
          static_cast<unsigned long long>(number_), static_cast<unsigned long long>(counted_),
          static_cast<unsigned long long>(left_));
    if (refused) {
      ++refusals_;
      check(sent[refused_dtp] <= last_allowed,
            "configuration %llu: %zu frames have left, memory has refused a read of frame %zu",
            static_cast<unsigned long long>(number_), sent[refused_dtp], last_allowed);
    }
    if (core_->abort_i) return aborted(idle);
    check(frames_left == 0, "configuration %llu: %zu frames did not come", static_cast<unsigned long long>(number_),
          frames_left);
    for (int i = 0; i < 100; ++i) {
      card.show(*core_, 0);
      core_->m_axis_tready = 1;
      core_->eval();
      check(!core_->m_axis_tvalid, "a frame too many");
      core_.cycle();
    }
    check(core_->idle_o != 0, "not idle behind the run");
    for (std::size_t d = 0; d < plays.size(); ++d) {
      check(made[d] == expected[d].descriptors.size(), "DTP %zu made %zu of %zu descriptors", d, made[d],
            expected[d].descriptors.size());
    }
    ++whole_;
  }

  void aborted(std::uint64_t idle) {
    check(idle == kIdle, "configuration %llu: not idle behind Abort at cycle %llu",
          static_cast<unsigned long long>(number_), static_cast<unsigned long long>(abort_at_));
    core_->abort_i = 0;
    ++aborts_;
  }

  void compare(const std::vector<Play>& plays, const std::vector<Expected>& expected, std::vector<std::size_t>& made,
               std::span<const std::byte> memory) {
    const auto& shown = core_->descriptor_o;
    const std::uint64_t d = get(shown, descriptor::dtp);
    if (!check(d < plays.size(), "a descriptor of DTP %llu", static_cast<unsigned long long>(d))) return;
    if (get(shown, descriptor::event_record) != 0) return;  // the event's is seen in its frame
    const std::size_t n = made[d]++;
    if (!check(n < expected[d].descriptors.size(), "a descriptor too many")) return;
    const link::BufferDescriptor& want = expected[d].descriptors[n];
    const std::uint64_t source = get(shown, descriptor::source), destination = get(shown, descriptor::destination),
                        bytes = get(shown, descriptor::bytes);
    check(source == static_cast<std::uint64_t>(want.source - memory.data()) &&
              destination == want.destination + plays[d].dtp.base && bytes == want.bytes,
          "configuration %llu, DTP %llu, descriptor %zu: %llx to %llx, %llu bytes",
          static_cast<unsigned long long>(number_), static_cast<unsigned long long>(d), n,
          static_cast<unsigned long long>(source), static_cast<unsigned long long>(destination),
          static_cast<unsigned long long>(bytes));
  }

  // A frame is of the DTP whose next one it equals; when there is none, of the one with its UDP ports and queue pair.
  void take(const std::vector<Play>& plays, const std::vector<Expected>& expected, std::vector<std::size_t>& sent,
            std::vector<std::size_t>& images, const Bytes& frame) {
    for (std::size_t d = 0; d < plays.size(); ++d) {
      if (sent[d] < expected[d].frames.size() && expected[d].frames[sent[d]] == frame) {
        ++sent[d];
        const std::size_t bth = plays[d].path.ipv6 ? 62 : 42;
        if (frame[bth] == std::byte{wire::write_only_imm}) ++images[d];
        check(true, "");
        return;
      }
    }
    check(false, "configuration %llu: a frame of %zu bytes that software does not send",
          static_cast<unsigned long long>(number_), frame.size());
    if (checks().failed > 3) return;
    for (std::size_t d = 0; d < plays.size(); ++d) {
      if (sent[d] >= expected[d].frames.size()) continue;
      const Bytes& want = expected[d].frames[sent[d]];
      std::size_t differ = 0, at = 0;
      for (std::size_t i = std::min(want.size(), frame.size()); i-- > 0;) {
        if (want[i] != frame[i]) ++differ, at = i;
      }
      std::fprintf(stderr, "  DTP %zu, frame %zu: %zu bytes wanted, %zu differ from byte %zu on\n", d, sent[d],
                   want.size(), differ, at);
    }
  }

  Clocked<Vsender_core>& core_;
  Random random_;
  static constexpr std::uint64_t kIdle = 8;  // cycles, as the registers want them
  static constexpr unsigned kBegins = 21;    // the bit of progress_o
  std::uint64_t number_ = 0, abort_at_ = 0, aborts_ = 0, whole_ = 0, refusals_ = 0;
  std::uint64_t counted_ = 0, left_ = 0;  // frames of this run
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
  const std::uint64_t runs = argument(1, 300), seed = argument(2, 1), first = argument(3, 0);
  Clocked<Vsender_core> core(seed);
  core->abort_i = 0;
  core->start_i = 0;
  core->arm_i = 0;
  core->pushed_mode_i = 0;
  core->pushed_valid_i = 0;
  core->may_go_i = 0xFFFF;
  core->m_axi_rvalid = 0;
  core->m_axi_arready = 0;
  core->m_axis_tready = 0;
  core.reset();
  Run run(core);
  for (std::uint64_t n = first; n < first + runs && checks().failed < 10; ++n) run(seed, n);
  check(run.aborts() != 0 || runs < 10, "no run was aborted");
  check(run.refusals() != 0 || runs < 100, "memory has refused no read");
  std::printf("configurations %llu to %llu of seed %llu: %llu whole, %llu aborted\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + runs - 1),
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(run.whole()),
              static_cast<unsigned long long>(run.aborts()));
  return result(core.cycles());
}
