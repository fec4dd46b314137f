// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The requester of one Reliable Connected queue pair, without sockets: it decides which packets are unacknowledged,
/// which to send or send again, and when to give up. Only the DTP's thread uses it; the constructor takes all memory.
/// It stores the place of a packet's payload in source memory, which must stay unchanged until the packet is
/// acknowledged. Records of events are copied, because they are valid only during the call.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/sockets/packet_batch.hpp"
#include "rashpa/link/roce/transports/acknowledge.hpp"
#include "rashpa/link/roce/transports/requester.hpp"

namespace rashpa::link::roce {

/// The times and counts of retries. Codes and limits are those of a verbs queue pair.
struct RcTimers {
  /// The code of the time-out: after 4.096 µs · 2^timeout without an acknowledgement, all unacknowledged packets are
  /// sent again. The wait doubles each time without progress, to 8.6 s in total, which outlasts a pause of the
  /// receiver.
  std::uint8_t timeout = 13;
  std::uint8_t retries = 7;  ///< retries without progress, after time-outs and sequence errors
  /// The retries without progress after "receiver not ready"; 7: unlimited. Each answer sets the wait. From the second
  /// one on, only the packet without a receive is sent, until it is acknowledged.
  std::uint8_t rnr_retries = 7;
};

class RcRequester {
 public:
  static constexpr bool kReliable = true;
  /// The other end, and the bytes that may be unacknowledged; 0: as many packets as can be stored.
  struct Peer {
    MemoryKeys keys;
    std::uint64_t window_bytes = 0;
    std::uint32_t pmtu = 4096;
  };
  /// The most unacknowledged packets, far below the 2^23 that sequence numbers can distinguish.
  static constexpr std::size_t kPackets = 1024;
  static constexpr std::size_t kEvents = 256;

  RcRequester(std::uint32_t first_psn, const RcTimers& timers, const Peer& peer);

  void line(const Piece& piece, Outgoing& packet) const noexcept {
    headers_.line(piece, packet);
    packet.opcode = wire::as_rc(packet.opcode);
  }
  void event(const Event& event, Outgoing& packet) const noexcept {
    headers_.event(event, packet);
    packet.opcode = wire::as_rc(packet.opcode);
  }
  /// Returns true when `bytes` more may be unacknowledged. When nothing is unacknowledged, one message is always
  /// allowed. Byte credits do not matter here.
  [[nodiscard]] bool open(std::uint64_t bytes, std::uint64_t /*known*/) const noexcept {
    const std::uint64_t flying = unacknowledged_bytes();
    return window_bytes_ == 0 || flying == 0 || flying + bytes <= window_bytes_;
  }
  [[nodiscard]] std::uint64_t in_flight(std::uint64_t /*known*/) const noexcept { return unacknowledged_bytes(); }

  [[nodiscard]] bool room() const noexcept {
    return !in_error_ && head_ - released_ < kPackets && events_pushed_ - events_released_ < kEvents;
  }
  /// Returns the sequence number of the next packet.
  [[nodiscard]] std::uint32_t next_psn() const noexcept { return psn_of(head_); }
  /// Stores a new packet behind all others, and sets its PSN; there must be room(). `image` is that of an event.
  void push(const Outgoing& packet, Ends ends, std::uint64_t image = 0) noexcept;

  /// Stores a new packet and requests an acknowledgement where one is due: for an event, for the last write of a batch
  /// (`waited`), and several times in a window.
  void push_new(Outgoing& packet, Ends ends, std::uint64_t image, bool waited) noexcept {
    packet.ack_request = ends == Ends::event || waited || ++since_ask_ >= ask_every_;
    if (packet.ack_request) since_ask_ = 0;
    push(packet, ends, image);
  }

  /// The next packet for the batch; null when there is none now. `again` marks a retry.
  struct Next {
    const Outgoing* packet = nullptr;
    Ends ends = Ends::nothing;
    std::uint64_t image = 0;
    bool again = false;
  };
  [[nodiscard]] Next next(std::int64_t now) noexcept;
  /// Records that the next packet went into the batch.
  void handed_over() noexcept;
  /// Records that the batch is empty, so that nothing points to payload any more. Returns 0, since this completes no
  /// writes.
  std::size_t batch_empty() noexcept {
    in_batch_ = kNothing;
    return 0;
  }

  /// Handles an acknowledgement of the responder. Outdated and invalid ones change nothing.
  void take(const Acknowledgement& acknowledgement, std::int64_t now) noexcept;
  /// Checks the time-outs at time `now`; call it regularly.
  void tick(std::int64_t now) noexcept;

  /// Returns how many writes' memory became free since the last call: acknowledged and not in the batch. Calls
  /// event_done(image) for each acknowledged event. In error, all writes are free.
  template <typename EventDone>
  std::size_t release(EventDone event_done) noexcept;

  /// Returns true when the retries are used up or the responder has refused; it sends nothing any more.
  [[nodiscard]] bool in_error() const noexcept { return in_error_; }
  [[nodiscard]] std::uint64_t unacknowledged() const noexcept { return head_ - acknowledged_; }
  [[nodiscard]] std::uint64_t unacknowledged_bytes() const noexcept { return pushed_bytes_ - acknowledged_bytes_; }
  /// Returns true while stored packets wait for the batch.
  [[nodiscard]] bool behind() const noexcept { return next_ != head_; }
  /// Returns the number of packets that were unacknowledged when the queue pair went into error.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

  struct Counters : CounterList {
    NamedCounter acks{*this, "acks"};                            ///< acknowledgements taken
    NamedCounter naks{*this, "naks"};                            ///< negative acknowledgements: gaps, or refusals
    NamedCounter rnr_naks{*this, "rnr_naks"};                    ///< times that the receiver had no receive posted
    NamedCounter retransmitted{*this, "retransmitted_packets"};  ///< retries, which `packets` counts, too
    NamedCounter timeouts{*this, "retransmission_timeouts"};     ///< times that no answer came in time
    NamedCounter errors{*this, "connection_errors"};  ///< 1: the connection is in error, and nothing is sent any more
  };
  [[nodiscard]] const Counters& counts() const noexcept { return counts_; }

 private:
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};
  struct Entry {
    Outgoing packet{};
    std::uint64_t image = 0;
    Ends ends = Ends::nothing;
  };
  [[nodiscard]] std::uint32_t psn_of(std::uint64_t number) const noexcept {
    return static_cast<std::uint32_t>(first_psn_ + number) & wire::kPsnMask;
  }
  Entry& entry(std::uint64_t number) noexcept { return entries_[number % kPackets]; }
  void acknowledge_until(std::uint64_t number) noexcept;
  void go_back(std::uint64_t number) noexcept;
  void retry(std::uint64_t number) noexcept;
  void fail() noexcept;

  WriteHeaders headers_;
  std::uint64_t window_bytes_;
  std::uint32_t ask_every_;      // packets: an acknowledgement is asked for at least so often
  std::uint32_t since_ask_ = 0;  // packets
  std::uint32_t first_psn_;
  RcTimers timers_;
  std::vector<Entry> entries_;
  std::vector<std::array<std::byte, FrameRecord::kBytes>> records_;
  // Packets are numbered from 0; released <= acknowledged <= next <= sent <= head.
  std::uint64_t released_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t next_ = 0;  // the next to be handed over
  std::uint64_t sent_ = 0;  // handed over at least once: all below
  std::uint64_t head_ = 0;
  std::uint64_t in_batch_ = kNothing;  // the lowest number in the batch
  std::uint64_t events_pushed_ = 0;
  std::uint64_t events_released_ = 0;
  std::uint64_t pushed_bytes_ = 0;
  std::uint64_t acknowledged_bytes_ = 0;
  std::int64_t waiting_since_ = 0;      // 0: to be set at the next look
  std::int64_t quiet_until_ = 0;        // receiver not ready: nothing is sent before …
  std::uint64_t probe_end_ = kNothing;  // … and then nothing from here on
  unsigned retries_ = 0;
  unsigned rnr_retries_ = 0;
  bool in_error_ = false;
  std::uint64_t lost_ = 0;
  std::uint64_t lost_from_ = kNothing;  // packets from here on were never acknowledged
  Counters counts_;
};

template <typename EventDone>
std::size_t RcRequester::release(EventDone event_done) noexcept {
  std::size_t writes = 0;
  const std::uint64_t end = acknowledged_ < in_batch_ ? acknowledged_ : in_batch_;
  for (; released_ < end; ++released_) {
    const Entry& done = entry(released_);
    if (done.ends == Ends::write) ++writes;
    if (done.ends != Ends::event) continue;
    ++events_released_;
    if (released_ < lost_from_) event_done(done.image);
  }
  return writes;
}

}  // namespace rashpa::link::roce
