// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/ledger.hpp"

#include <algorithm>
#include <utility>

namespace rashpa::transfer {

Ledger::Ledger(LedgerConfig config)
    : config_(std::move(config)),
      images_(std::make_unique<Image[]>(config_.images)),
      // Not touched before they are used.
      owners_(new std::uint8_t[config_.images]),
      again_(std::min(config_.replay_frames, config_.images) + 1) {}

std::vector<std::uint32_t> Ledger::room_for(std::uint32_t slots) const {
  return std::vector<std::uint32_t>(std::min(again_.size() + slots, config_.images + 1));
}

void Ledger::widen(std::vector<std::uint32_t> room) noexcept {
  for (std::uint64_t i = again_head_; i < again_tail_; ++i) room[i % room.size()] = again_[i % again_.size()];
  again_.swap(room);
}

bool Ledger::in_window(std::uint32_t image) const noexcept {
  const std::uint64_t newest = counts_.fresh == 0 ? 0 : counts_.fresh - 1;
  return (newest - std::min<std::uint64_t>(image, newest)) * config_.slice.every < config_.replay_frames;
}

std::optional<std::uint32_t> Ledger::again() noexcept {
  for (; any_again(); ++again_head_) {
    const std::uint32_t image = again_[again_head_ % again_.size()];
    if (images_[image] != Image::again) continue;  // the member that had it was done with it after all
    if (in_window(image)) return image;
    lose(image);
  }
  return std::nullopt;
}

void Ledger::lose(std::uint32_t image) noexcept {
  images_[image] = Image::lost;
  ++counts_.lost;
  log::write(lost_said_, log::Level::warning, where(image),
             "group {}: the frame has left the window of {} frames and cannot be sent again", config_.name,
             config_.replay_frames);
}

void Ledger::push_again(std::uint32_t image) noexcept {
  if (!in_window(image) || again_tail_ - again_head_ >= again_.size()) return lose(image);
  images_[image] = Image::again;
  again_[again_tail_++ % again_.size()] = image;
}

void Ledger::skip() noexcept {
  images_[counts_.fresh++] = Image::skipped;
  ++counts_.skipped;
}

bool Ledger::take_back(std::size_t member, std::uint32_t image) noexcept {
  if (owners_[image] != member || (images_[image] != Image::dealt && images_[image] != Image::done)) return false;
  push_again(image);
  return true;
}

LedgerCounts Ledger::counts() const noexcept {
  LedgerCounts counts = counts_;
  counts.waiting = again_tail_ - again_head_;
  return counts;
}

log::Where Ledger::where(std::uint64_t image) const noexcept {
  return {.run = config_.run, .frame = static_cast<std::int64_t>(config_.slice.frame(image))};
}

}  // namespace rashpa::transfer
