// SPDX-License-Identifier: Apache-2.0
// Random DTPs: each one's descriptors are those of software's DescriptorGenerator, its events those of its placement,
// in order. Nothing goes without a frame, a credit or the pacer; what is left out is on order; in turn; Abort; the
// pace.
#include <algorithm>
#include <deque>
#include <optional>

#include "../sender/software.hpp"
#include "../testing/structs.hpp"
#include "../testing/table.hpp"
#include "Vdescriptor_generator.h"

namespace rashpa::rtl {
namespace {

constexpr std::uint64_t kSilence = 4000;
constexpr std::uint64_t kLate = 16;  // cycles: what was true at some time in them may have been looked at

struct Dtp {
  Play play;
  std::deque<std::array<std::uint64_t, 12>> due;  // descriptors of the image in hand
  std::uint64_t image = 0;                        // the next one
  std::uint32_t granted = 0, frames = 0;
  std::deque<std::uint32_t> granted_before;
  std::uint64_t taken = 0;
  bool enabled = true;

  [[nodiscard]] std::uint32_t frame() const { return static_cast<std::uint32_t>(play.dtp.slice.frame(image)); }
  [[nodiscard]] bool done() const { return !enabled || (image == play.dtp.images && due.empty()); }
  [[nodiscard]] bool has_frame() const { return frames > frame(); }
};

class Bench {
 public:
  explicit Bench(std::uint64_t seed) : generator_(seed), random_(seed) {
    Vdescriptor_generator& g = *generator_;
    g.arm_i = g.start_i = g.abort_i = g.ready_i = 0;
    g.table_i = 0;
    g.may_go_i = 0xFFFF;
    generator_.reset();
  }

  /// `open`: no credits, frames or rates are missing, so that all DTPs play in turn.
  void run(bool open, bool aborts) {
    arm(open);
    open_ = open;
    silent_ = 0;
    generator_->start_i = 1;
    cycle();
    generator_->start_i = 0;
    const std::uint64_t begin = generator_.cycles();
    const std::uint64_t stop = aborts ? random_(0, 400) : ~0ULL;
    std::uint64_t made = made_, images = 0;
    for (const Dtp& dtp : dtps_) images += dtp.enabled ? dtp.play.dtp.images : 0;
    while (!done() && silent_ < kSilence && checks().failed < 10) {
      if (generator_.cycles() - begin == stop) return abort();
      cycle();
    }
    check(done(), "descriptors did not come");
    if (open) {
      const std::uint64_t cycles = generator_.cycles() - begin;
      check(cycles <= 4 * (made_ - made) + 8 * images + 64, "%llu cycles for %llu descriptors of %llu images",
            static_cast<unsigned long long>(cycles), static_cast<unsigned long long>(made_ - made),
            static_cast<unsigned long long>(images));
    }
    // who has a rate is looked at once more when the pacer lets him
    for (int i = 0; i < 30 || (generator_->active_o != 0 && i < 500); ++i) cycle();
    check(generator_->active_o == 0, "active behind the run: %04x", generator_->active_o);
  }

  /// All frames are there, and no credit: who waits says so, and goes on when it comes.
  void starves() {
    arm(false);
    for (Dtp& dtp : dtps_) dtp.frames = 0;
    held_ = true;
    open_ = false;
    silent_ = 0;
    generator_->start_i = 1;
    cycle();
    generator_->start_i = 0;
    for (int i = 0; i < 200; ++i) cycle();
    check(generator_->waits_credit_o == 0, "it says that it waits for credits, but no frame is there");
    for (Dtp& dtp : dtps_) dtp.frames = 1U << 30U;
    while (silent_ < 1000) cycle();
    std::uint32_t waiting = 0, active = 0;
    for (std::uint32_t d = 0; d < 16; ++d) {
      const auto& table = dtps_[d].play.table;
      if (dtps_[d].enabled && !table.dtp_paced && !table.dtp_skip) waiting |= 1U << d;
      if (!dtps_[d].done()) active |= 1U << d;
    }
    check(active == waiting && generator_->active_o == active, "active: %04x, to be played: %04x", generator_->active_o,
          active);
    check(generator_->waits_credit_o == waiting, "waiting for credits: %04x instead of %04x",
          generator_->waits_credit_o, waiting);
    held_ = false;
    silent_ = 0;
    while (!done() && silent_ < kSilence) cycle();
    check(done(), "a credit is not taken");
  }

  [[nodiscard]] std::uint64_t cycles() const { return generator_.cycles(); }
  [[nodiscard]] std::uint64_t made() const { return made_; }
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }
  [[nodiscard]] std::uint64_t aborts() const { return aborts_; }

 private:
  void arm(bool open) {
    std::uint64_t end = std::uint64_t{random_(0, 3)} << 32U;  // sources beyond 4 GiB
    end += 0xFFFFF000U - std::min<std::uint64_t>(0xFFFFF000U, random_(0, 200'000));
    dtps_.clear();
    last_ = 16;
    generator_->arm_i = 1;
    generator_.cycle();
    generator_->arm_i = 0;
    for (std::uint32_t d = 0; d < 16; ++d) {
      Dtp dtp{random_play(random_, random_(0, 255), end), {}};
      auto& table = dtp.play.table;
      dtp.enabled = table.dtp_enabled = random_.chance(80);
      table.dtp_skip = random_.chance(30);
      table.rate = !open && random_.chance(30) ? 1 : 0;
      if (open || random_.chance(30)) dtp.frames = 1U << 30U;
      if (open) dtp.granted = 1U << 30U;
      write_table(*generator_, d, table, [&] { generator_.cycle(); });
      dtps_.push_back(std::move(dtp));
    }
    generator_->may_go_i = 0xFFFF;
    spent_ = 16;
    for (int i = 0; i < 20; ++i) {
      generator_.cycle();
      check(!generator_->valid_o && generator_->active_o == 0, "it plays before it is started");
    }
  }

  [[nodiscard]] bool done() const {
    return std::all_of(dtps_.begin(), dtps_.end(), [](const Dtp& dtp) { return dtp.done(); });
  }

  void cycle() {
    Vdescriptor_generator& g = *generator_;
    g.ready_i = open_ || random_.chance(70);
    for (std::uint32_t d = 0; d < 16; ++d) {
      Dtp& dtp = dtps_[d];
      if (!held_ && !open_) {
        if (dtp.granted < dtp.image + 3 && random_.chance(3)) ++dtp.granted;
        if (dtp.frames < (1U << 30U) && random_.chance(10)) ++dtp.frames;
      }
      dtp.granted_before.push_back(dtp.granted);
      if (dtp.granted_before.size() > kLate) dtp.granted_before.pop_front();
      // the pacer holds back who has a rate and has sent
      if (dtp.play.table.rate != 0 && !(g.may_go_i >> d & 1U) && random_.chance(10)) {
        g.may_go_i |= static_cast<std::uint16_t>(1U << d);
        dtp.taken = 0;
      }
    }
    g.eval();
    g.granted_i = dtps_[g.dtp_o].granted;
    g.frames_i = dtps_[g.dtp_o].frames;
    g.eval();
    if (g.skips_o) skip(dtps_[g.dtp_o]);
    std::array<std::uint64_t, 12> shown{};
    if (g.valid_o) shown = fields();
    if (shown_) check(g.valid_o && shown == *shown_, "a descriptor was taken back");
    shown_.reset();
    if (g.valid_o && !g.ready_i) shown_ = shown;
    std::uint32_t spent = 16;
    if (g.valid_o && g.ready_i) {
      take(shown);
      const auto d = static_cast<std::uint32_t>(shown[0]);
      if (dtps_[d].play.table.rate != 0) spent = d;
    }
    ++silent_;
    generator_.cycle();
    // it is told a cycle later
    if (spent_ < 16) g.may_go_i &= static_cast<std::uint16_t>(~(1U << spent_));
    spent_ = spent;
  }

  [[nodiscard]] std::array<std::uint64_t, 12> fields() {
    using namespace descriptor;
    const auto& shown = generator_->descriptor_o;
    const bool event = get(shown, event_record) != 0;
    return {get(shown, dtp),
            get(shown, event_record),
            get(shown, complete_record),
            get(shown, begins_image),
            event ? get(shown, last_of_run) : 0,
            get(shown, source),
            get(shown, destination),
            get(shown, descriptor::bytes),
            event ? get(shown, immediate) : 0,
            event ? get(shown, index) : 0,
            event ? get(shown, slot) : 0,
            event ? 0 : get(shown, factor)};
  }

  /// The next image's descriptors.
  void enter(Dtp& dtp, std::uint64_t d) {
    const Play& play = dtp.play;
    const Placement& to = play.dtp.placement;
    const std::uint64_t slot = play.frames.address + dtp.frame() % play.frames.frames * play.frames.stride;
    transfer::DescriptorGenerator generator(play.dtp.region, play.frames.pitch_bytes, play.frames.pixel_bytes, to,
                                            play.packets.largest_message);
    generator.begin(nullptr, dtp.image);
    const std::byte* zero = nullptr;
    std::array<link::BufferDescriptor, 5> batch{};
    bool first = true;
    while (const std::size_t made = generator.next(batch)) {
      for (std::size_t i = 0; i < made; ++i) {
        const std::uint64_t of_last = (batch[i].bytes - 1) % play.packets.pmtu + 1;
        dtp.due.push_back(
            {d, 0, 0, first, 0, slot + FrameRing::kPixels + static_cast<std::uint64_t>(batch[i].source - zero),
             batch[i].destination + play.dtp.base, batch[i].bytes, 0, 0, 0, Crc32cShift(of_last).factor()});
        first = false;
      }
    }
    dtp.due.push_back({d, 1, 1, 0, dtp.image + 1 == play.dtp.images, slot, play.dtp.base + to.record_offset(dtp.image),
                       FrameRecord::kBytes, immediate_of(play.dtp.id, dtp.image), dtp.image, dtp.image % to.slots, 0});
    ++dtp.image;
  }

  void take(const std::array<std::uint64_t, 12>& shown) {
    const std::uint64_t d = shown[0];
    Dtp& dtp = dtps_[d];
    silent_ = 0;
    ++made_;
    if (dtp.due.empty()) {
      if (!check(!dtp.done(), "a descriptor too many of DTP %llu", static_cast<unsigned long long>(d))) return;
      check(dtp.has_frame(), "an image without a frame");
      check(dtp.granted > dtp.image || dtp.play.table.dtp_paced, "an image without a credit");
      enter(dtp, d);
    }
    check(shown == dtp.due.front(), "DTP %llu, image %llu: %llx to %llx, %llu bytes, is not software's",
          static_cast<unsigned long long>(d), static_cast<unsigned long long>(dtp.image - 1),
          static_cast<unsigned long long>(shown[5]), static_cast<unsigned long long>(shown[6]),
          static_cast<unsigned long long>(shown[7]));
    dtp.due.pop_front();
    if (dtp.play.table.rate != 0) check(dtp.taken++ == 0, "two descriptors for one go of the pacer");
    if (open_) {
      // from the one before on, those that come between have nothing left
      for (std::uint64_t between = (last_ + 1) % 16; last_ < 16 && between != d; between = (between + 1) % 16) {
        check(dtps_[between].done(), "DTP %llu is left out", static_cast<unsigned long long>(between));
      }
      last_ = d;
    }
  }

  void skip(Dtp& dtp) {
    const auto& table = dtp.play.table;
    check(dtp.due.empty() && !dtp.done() && table.dtp_skip && !table.dtp_paced, "an image is left out unasked");
    check(dtp.has_frame() && dtp.granted_before.front() <= dtp.image, "an image is left out that has its credit");
    ++dtp.image;
    ++skipped_;
    silent_ = 0;
  }

  void abort() {
    generator_->abort_i = 1;
    generator_.cycle();
    generator_.cycle();
    for (int i = 0; i < 20; ++i) {
      check(!generator_->valid_o && generator_->active_o == 0, "it plays on behind Abort");
      generator_.cycle();
    }
    generator_->abort_i = 0;
    for (int i = 0; i < 20; ++i) {
      check(!generator_->valid_o && generator_->active_o == 0, "it plays on behind Abort");
      generator_.cycle();
    }
    shown_.reset();
    ++aborts_;
  }

  Clocked<Vdescriptor_generator> generator_;
  Random random_;
  std::vector<Dtp> dtps_;
  std::optional<std::array<std::uint64_t, 12>> shown_;
  bool open_ = false, held_ = false;
  std::uint32_t spent_ = 16;  // DTP with a rate whose descriptor was taken in the cycle before; 16: none
  std::uint64_t last_ = 16, silent_ = 0, made_ = 0, skipped_ = 0, aborts_ = 0;
};

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa::rtl;
  Bench bench(1);
  for (int n = 0; n < 240 && checks().failed < 10; ++n) {
    if (n % 20 == 19) {
      bench.starves();
    } else {
      bench.run(n % 4 == 0, n % 4 == 1);
    }
  }
  check(bench.skipped() > 50 && bench.aborts() > 20 && bench.made() > 20'000, "%llu left out, %llu aborted, %llu made",
        static_cast<unsigned long long>(bench.skipped()), static_cast<unsigned long long>(bench.aborts()),
        static_cast<unsigned long long>(bench.made()));
  return result(bench.cycles());
}
