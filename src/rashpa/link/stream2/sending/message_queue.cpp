// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/sending/message_queue.hpp"

#include <algorithm>
#include <iterator>

namespace rashpa::link::stream2 {

namespace {

constexpr std::uint32_t kFarthest = 2;  // messages that a late one lets pass: fewer than any receiver waits for

}  // namespace

MessageQueue::MessageQueue(const std::optional<FaultConfig>& faults, std::uint32_t dtp, std::uint64_t images)
    : fates_(faults ? images : 0) {
  if (faults) dice_.emplace(*faults, dtp);
}

MessageQueue::Bytes MessageQueue::copy_of(std::span<const std::byte> message) {
  Bytes copy;
  if (!free_.empty()) {
    copy = std::move(free_.back());
    free_.pop_back();
  }
  copy.assign(message.begin(), message.end());
  return copy;
}

// A message leaves, and with it those that have waited for it.
void MessageQueue::leave(std::span<const std::byte> message) {
  leaving_.push_back(copy_of(message));
  for (Late& late : late_) {
    if (--late.behind == 0) leaving_.push_back(std::move(late.message));
  }
  std::erase_if(late_, [](const Late& late) { return late.behind == 0; });
}

void MessageQueue::add_image(std::uint64_t index, std::span<const std::byte> message) {
  Completeness fate = Completeness::complete;
  switch (dice_ ? dice_->draw() : roce::Fault::none) {
    case roce::Fault::none:
      leave(message);
      break;
    case roce::Fault::drop:
      dropped_.add(1);
      fate = Completeness::missing;
      break;
    case roce::Fault::duplicate:
      leave(message);
      leave(message);
      duplicated_.add(1);
      break;
    case roce::Fault::reorder:
      late_.push_back({copy_of(message), 1 + dice_->below(kFarthest)});
      reordered_.add(1);
      break;
    case roce::Fault::corrupt: {
      // The first byte says that the message is a map; the format has no checksum that would find anything else.
      Bytes damaged = copy_of(message);
      damaged[0] ^= std::byte{0x20};
      leave(damaged);
      corrupted_.add(1);
      fate = Completeness::missing;
      break;
    }
  }
  fates_.set(index, fate);
}

void MessageQueue::add(std::span<const std::byte> message, bool last) {
  if (last) {
    for (Late& late : late_) leaving_.push_back(std::move(late.message));
    late_.clear();
  }
  leaving_.push_back(copy_of(message));
}

std::span<const std::byte> MessageQueue::front() const noexcept {
  return leaving_.empty() ? std::span<const std::byte>() : std::span<const std::byte>(leaving_.front());
}

void MessageQueue::pop() noexcept {
  constexpr std::size_t kKept = 8;
  if (free_.size() < kKept) free_.push_back(std::move(leaving_.front()));
  leaving_.pop_front();
}

}  // namespace rashpa::link::stream2
