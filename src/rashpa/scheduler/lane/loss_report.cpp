// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/loss_report.hpp"

#include <algorithm>

namespace rashpa::scheduler {

LossReport::LossReport(const LaneConfig& config) : config_(config), dtps_(config.dtps.size()) {}

void LossReport::count_never_come(std::size_t dtp, std::uint64_t images) noexcept {
  dtps_[dtp].missing.fetch_add(images, std::memory_order_relaxed);
  dtps_[dtp].losses[static_cast<std::size_t>(link::Loss::deadline)].fetch_add(images, std::memory_order_relaxed);
}

void LossReport::note_first(std::uint64_t index, std::size_t dtp, link::Loss loss, bool ended) noexcept {
  if (first_.known.load(std::memory_order_relaxed)) return;
  first_.index = index;
  first_.frame = config_.slice.frame(index);
  first_.dtp = config_.dtps[dtp].id;
  first_.module = config_.dtps[dtp].module;
  first_.loss = loss;
  first_.ended = ended;
  first_.known.store(true, std::memory_order_release);
}

void LossReport::say(std::size_t dtp, const link::Arrival& arrival, const StackImage& image) noexcept {
  const LaneDtp& one = config_.dtps[dtp];
  const log::Where where{.run = config_.run,
                         .buffer = config_.name,
                         .dtp = one.id,
                         .frame = static_cast<std::int64_t>(image.frame_number)};
  log::Limiter& limiter = dtps_[dtp].said[static_cast<std::size_t>(arrival.loss) % 6];
  const auto say = [&](const char* words) { log::write(limiter, log::Level::warning, where, "{}", words); };
  switch (arrival.loss) {
    case link::Loss::lines: {
      const auto lost = image.lost_runs();
      const auto first = std::find_if(lost.begin(), lost.end(), [&](const LostRun& run) { return run.dtp == one.id; });
      return log::write(limiter, log::Level::warning, where, "{} of {} lines are lost, the first is line {}",
                        arrival.lines_missing, one.placement.lines, first != lost.end() ? first->first_line : 0);
    }
    case link::Loss::event:
      return say("its event is lost");
    case link::Loss::deadline:
      return say("the DTP stalls: nothing of the image came before the deadline");
    case link::Loss::overrun:
      return say("the slot of the image was not free");
    case link::Loss::corrupt:
      return say("no line of the image is proven by its CRC32C");
    case link::Loss::none:
      return;
  }
}

LaneDtpStats LossReport::stats(std::size_t dtp) const noexcept {
  const OfDtp& of = dtps_[dtp];
  LaneDtpStats stats{.complete = of.complete.load(std::memory_order_relaxed),
                     .partial = of.partial.load(std::memory_order_relaxed),
                     .missing = of.missing.load(std::memory_order_relaxed),
                     .lines_missing = of.lines_missing.load(std::memory_order_relaxed)};
  for (std::size_t i = 0; i < stats.losses.size(); ++i) stats.losses[i] = of.losses[i].load(std::memory_order_relaxed);
  return stats;
}

}  // namespace rashpa::scheduler
