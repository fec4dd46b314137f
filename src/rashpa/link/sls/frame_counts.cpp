// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/frame_counts.hpp"

#include <algorithm>

namespace rashpa::link::sls {

namespace {

constexpr std::uint64_t kBehind = 2;   // frames by which a network may mix the packets of one port
constexpr std::uint64_t kNear = 1024;  // frames that a port may miss without a second look
constexpr std::uint32_t kProof = 16;   // packets that agree on a place far ahead
constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;

}  // namespace

FrameCounts::FrameCounts(std::uint64_t first, std::size_t ports) : offers_(ports) {
  // relaxed: no thread of a port runs yet, and its start orders these stores before its first look
  for (auto& offer : offers_) offer.store(kNone, std::memory_order_relaxed);
  if (first != 0) add({first & kMask, 0});
}

void FrameCounts::add(const Stretch& stretch) noexcept {
  const std::size_t at = count_.load(std::memory_order_relaxed);
  stretches_[at] = stretch;
  count_.store(at + 1, std::memory_order_release);
}

void FrameCounts::offer(std::size_t port, std::uint64_t number, std::int64_t now) noexcept {
  offers_[port].store(number & kMask, std::memory_order_release);
  std::int64_t none = 0;
  first_offer_ns_.compare_exchange_strong(none, now);
}

void FrameCounts::settle(std::int64_t now) noexcept {
  const std::int64_t since = first_offer_ns_.load();
  if (begun() || since == 0) return;
  std::optional<std::uint64_t> lowest;
  bool all = true;
  for (const auto& offer : offers_) {
    // acquire: the thread of a port released its number; the thread that counts sees the port's packets before it
    const std::uint64_t number = offer.load(std::memory_order_acquire);
    all = all && number != kNone;
    if (number != kNone && (!lowest || distance(number, *lowest) < 0)) lowest = number;
  }
  if (!lowest || (!all && now - since < kPatienceNs)) return;
  const std::lock_guard lock(adding_);
  if (!begun()) add({*lowest, 0});
}

void FrameCounts::raise(std::uint64_t frame) noexcept {
  std::uint64_t seen = seen_.load(std::memory_order_relaxed);
  while (seen <= frame && !seen_.compare_exchange_weak(seen, frame + 1)) {
  }
}

bool FrameCounts::fall_back(std::uint64_t number, std::size_t known) noexcept {
  const std::lock_guard lock(adding_);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (count > known) return true;
  if (count == kMost) return false;
  add({number & kMask, seen_.load()});
  return true;
}

PortCount::PortCount(FrameCounts& counts, std::uint32_t packets) noexcept
    : counts_(&counts), proof_(std::max(packets, kProof)) {}

// Of a number in a stretch; empty where that lies before it, or behind its end.
std::optional<std::uint64_t> PortCount::place(std::uint64_t number, std::size_t stretch) const noexcept {
  const Stretch& one = counts_->stretch(stretch);
  const std::int64_t away = distance(number, one.number);
  if (away < 0) return std::nullopt;
  const std::uint64_t frame = one.frame + static_cast<std::uint64_t>(away);
  if (stretch + 1 < counts_->stretches() && frame >= counts_->stretch(stretch + 1).frame) return std::nullopt;
  return frame;
}

std::optional<std::uint64_t> PortCount::frame(std::uint64_t number) noexcept {
  const std::optional<std::uint64_t> frame = place(number, stretch_);
  if (!frame || (begun_ && *frame + kBehind < highest_)) return behind(number, frame);
  row_ = 0;
  if (begun_ && *frame > highest_ + kNear) return ahead(*frame);
  if (!begun_ || *frame > highest_) {
    highest_ = *frame;
    counts_->raise(*frame);
  }
  begun_ = true;
  return frame;
}

// A straggler, of which there are some; or the first packets of a detector that counts from the beginning again. Then
// they go on, and nothing else comes.
std::optional<std::uint64_t> PortCount::behind(std::uint64_t number, std::optional<std::uint64_t> frame) noexcept {
  if (!begun_) return frame;  // from before the run
  if (stretch_ + 1 < counts_->stretches()) {
    // Another port has seen it first. A packet far ahead in the new stretch is a straggler of the old one.
    const auto there = place(number, stretch_ + 1);
    if (there && *there < counts_->stretch(stretch_ + 1).frame + kNear) {
      ++stretch_;
      ++falls_;
      row_ = 0;
      highest_ = *there;
      counts_->raise(*there);
      return there;
    }
  }
  const bool goes_on = row_ != 0 && distance(number, last_) >= 0 && distance(number, last_) <= 1;
  if (!goes_on) row_ = 0;
  if (row_ == 0) lowest_ = number;
  last_ = number;
  if (++row_ < proof_) return frame;
  row_ = 0;
  const std::size_t known = stretch_ + 1;
  if (!counts_->fall_back(lowest_, known) || stretch_ + 1 >= counts_->stretches()) return frame;
  return behind(number, frame);
}

// One packet with a wrong number must not end all images up to it: some others have to agree.
std::optional<std::uint64_t> PortCount::ahead(std::uint64_t frame) noexcept {
  const bool agrees = far_packets_ != 0 && frame >= far_ && frame - far_ <= 1;
  far_packets_ = agrees ? far_packets_ + 1 : 1;
  far_ = frame;
  if (far_packets_ < kProof) return std::nullopt;
  far_packets_ = 0;
  highest_ = frame;
  counts_->raise(frame);
  return frame;
}

}  // namespace rashpa::link::sls
