// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/transports/rc_requester.hpp"

#include <algorithm>
#include <cstring>

namespace rashpa::link::roce {

namespace {
constexpr std::int64_t kTimeoutUnitNs = 4096;
constexpr std::uint8_t kLongestTimeout = 31;
constexpr std::uint8_t kForEver = 7;
// At least so often an acknowledgement is asked for, in packets, and a number of times in a window.
constexpr std::uint32_t kAskEvery = 32;
constexpr std::uint32_t kAsksPerWindow = 4;

std::uint32_t ask_every(const RcRequester::Peer& peer) noexcept {
  if (peer.window_bytes == 0) return kAskEvery;
  const std::uint64_t part = peer.window_bytes / peer.pmtu / kAsksPerWindow;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(part, 1, kAskEvery));
}

}  // namespace

RcRequester::RcRequester(std::uint32_t first_psn, const RcTimers& timers, const Peer& peer)
    : headers_(peer.keys),
      window_bytes_(peer.window_bytes),
      ask_every_(ask_every(peer)),
      first_psn_(first_psn & wire::kPsnMask),
      timers_(timers),
      entries_(kPackets),
      records_(kEvents) {
  timers_.timeout = std::min(timers_.timeout, kLongestTimeout);
}

void RcRequester::push(const Outgoing& packet, Ends ends, std::uint64_t image) noexcept {
  Entry& remembered = entry(head_);
  remembered = {packet, image, ends};
  remembered.packet.psn = psn_of(head_);
  if (ends == Ends::event) {
    auto& record = records_[events_pushed_++ % kEvents];
    std::memcpy(record.data(), packet.payload, record.size());
    remembered.packet.payload = record.data();
  }
  pushed_bytes_ += packet.bytes;
  ++head_;
}

RcRequester::Next RcRequester::next(std::int64_t now) noexcept {
  if (in_error_ || next_ == head_ || next_ >= probe_end_ || now < quiet_until_) return {};
  Entry& due = entry(next_);
  const bool again = next_ < sent_;
  if (again) due.packet.ack_request = true;  // it waits for the repetition
  return {&due.packet, due.ends, due.image, again};
}

void RcRequester::handed_over() noexcept {
  if (next_ < sent_) counts_.retransmitted.add(1);
  in_batch_ = std::min(in_batch_, next_);
  ++next_;
  sent_ = std::max(sent_, next_);
}

void RcRequester::acknowledge_until(std::uint64_t number) noexcept {
  if (number == acknowledged_) return;
  for (; acknowledged_ < number; ++acknowledged_) acknowledged_bytes_ += entry(acknowledged_).packet.bytes;
  next_ = std::max(next_, acknowledged_);
  retries_ = rnr_retries_ = 0;
  probe_end_ = kNothing;
  quiet_until_ = 0;
  waiting_since_ = 0;
}

void RcRequester::go_back(std::uint64_t number) noexcept {
  next_ = number;
  waiting_since_ = 0;
}

// Everything from `number` on again, unless it was tried too often.
void RcRequester::retry(std::uint64_t number) noexcept {
  if (retries_++ == timers_.retries) return fail();
  go_back(number);
}

void RcRequester::fail() noexcept {
  in_error_ = true;
  counts_.errors.add(1);
  lost_ = head_ - acknowledged_;
  lost_from_ = acknowledged_;
  acknowledged_bytes_ = pushed_bytes_;
  acknowledged_ = next_ = sent_ = head_;
}

void RcRequester::take(const Acknowledgement& acknowledgement, std::int64_t now) noexcept {
  if (in_error_) return;
  const std::int32_t distance = wire::psn_distance(acknowledgement.psn, psn_of(acknowledged_));
  if (distance < 0 || static_cast<std::uint64_t>(distance) >= sent_ - acknowledged_) return;  // stale, or never sent
  const std::uint64_t number = acknowledged_ + static_cast<std::uint64_t>(distance);
  switch (acknowledgement.syndrome & syndrome::kind) {
    case syndrome::acknowledge:
      counts_.acks.add(1);
      return acknowledge_until(number + 1);
    case syndrome::receiver_not_ready:
      counts_.rnr_naks.add(1);
      acknowledge_until(number);
      if (timers_.rnr_retries != kForEver && rnr_retries_ == timers_.rnr_retries) return fail();
      // A second such answer: later packets would be thrown away once more.
      if (++rnr_retries_ > 1) probe_end_ = number + 1;
      go_back(number);
      quiet_until_ = now + rnr_wait_ns(acknowledgement.syndrome);
      return;
    case syndrome::nak:
      counts_.naks.add(1);
      acknowledge_until(number);
      return acknowledgement.syndrome == syndrome::sequence_error ? retry(number) : fail();
    default:
      return;
  }
}

void RcRequester::tick(std::int64_t now) noexcept {
  if (in_error_ || next_ == acknowledged_ || now < quiet_until_) {
    waiting_since_ = 0;
    return;
  }
  if (waiting_since_ == 0) {
    waiting_since_ = now;
    return;
  }
  if (now - waiting_since_ < (kTimeoutUnitNs << timers_.timeout) << retries_) return;
  counts_.timeouts.add(1);
  retry(acknowledged_);
}

}  // namespace rashpa::link::roce
