// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/frame_feed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rashpa::emulator {

namespace {
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
}  // namespace

FrameFeed::FrameFeed(FeedConfig config)
    : frames_(config.frames), rate_hz_(config.rate_hz), skips_(config.skips), modules_(config.rings.size()) {
  for (std::size_t module = 0; module < modules_.size(); ++module) modules_[module].ring = config.rings[module];
  for (const FeedConfig::Dtp& dtp : config.dtps) {
    modules_[dtp.module].dtps.push_back(dtps_.size());
    dtps_.push_back({.of = dtp});
  }
}

std::int64_t FrameFeed::due_ns(std::uint64_t frame) const noexcept {
  return start_ns_ + static_cast<std::int64_t>(std::llround(static_cast<double>(frame) * 1e9 / rate_hz_));
}

std::uint64_t FrameFeed::frames_due(std::int64_t now) const noexcept {
  if (rate_hz_ <= 0) return frames_;
  if (now < start_ns_) return 0;
  auto frames = static_cast<std::uint64_t>(static_cast<double>(now - start_ns_) * 1e-9 * rate_hz_);
  while (due_ns(frames) <= now) ++frames;  // rounded as records are
  while (frames > 0 && due_ns(frames - 1) > now) --frames;
  return std::min(frames, frames_);
}

void FrameFeed::feed(std::int64_t now, std::uint64_t pause_from, FrameOutlet& out) {
  const std::uint64_t hold = held(pause_from);
  const std::uint64_t due = std::min(frames_due(now), hold);
  for (std::size_t module = 0; module < modules_.size(); ++module) fill(module, due, out);
  for (std::size_t place = 0; place < dtps_.size(); ++place) {
    Dtp& dtp = dtps_[place];
    if (dtp.ended()) continue;
    std::uint64_t frames = std::min(modules_[dtp.of.module].filled, hold);
    if (skips_) frames = std::min(frames, dtp.next_frame() + 1);
    if (dtp.available == frames) continue;
    dtp.available = frames;
    out.make_available(place, frames);
  }
}

/// The first frame that is not given while it is paused: behind all that a DTP has, so that no image is left half sent.
std::uint64_t FrameFeed::held(std::uint64_t pause_from) noexcept {
  if (pause_from == transfer::kNoHold) return held_ = transfer::kNoHold;
  if (held_ == transfer::kNoHold) {
    held_ = 0;
    for (const Dtp& dtp : dtps_) {
      if (!dtp.ended()) held_ = std::max(held_, dtp.available);
    }
  }
  return held_ = std::max(held_, pause_from);
}

/// Puts frames that are due into memory, as far as the ring has places that nobody reads.
void FrameFeed::fill(std::size_t module, std::uint64_t due, FrameOutlet& out) {
  Module& ours = modules_[module];
  std::uint64_t oldest = kNever;
  for (const std::size_t place : ours.dtps) {
    if (!dtps_[place].ended()) oldest = std::min(oldest, dtps_[place].next_frame());
  }
  if (oldest == kNever) return;
  const std::uint64_t end = std::min({due, oldest + ours.ring, ours.filled + kAtOnce});
  for (; ours.filled < end; ++ours.filled) {
    const std::uint64_t frame = ours.filled;
    const bool taken =
        std::any_of(ours.dtps.begin(), ours.dtps.end(), [&](std::size_t place) { return dtps_[place].takes(frame); });
    if (!taken) continue;
    out.put(module, frame, rate_hz_ > 0 ? std::optional(due_ns(frame)) : std::nullopt);
  }
}

}  // namespace rashpa::emulator
