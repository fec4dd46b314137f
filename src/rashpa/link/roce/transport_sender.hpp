// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sender of one transport: cuts writes into packets, passes them to its outlet, and reads answers. `Requester` is
/// UcRequester, RcRequester or UdRequester; `Outlet` is PlainOutlet or FaultInjector.
#include <poll.h>

#include <algorithm>
#include <utility>

#include "rashpa/core/frame/part_record.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/credits/return_path.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/roce/sockets/packet_batch.hpp"
#include "rashpa/link/roce/sockets/source_socket.hpp"
#include "rashpa/link/roce/transports/requester.hpp"
#include "rashpa/link/sending/credit_bound.hpp"

namespace rashpa::link::roce {

/// The checked place and limits of a sender, before its transport matters. Throws as make_sender() does.
struct SenderStart {
  explicit SenderStart(const SenderConfig& wanted);

  SenderConfig config;  // with the window that the destination has room for
  std::uint32_t qpn;
  SourceSocket socket;
  Endpoint self;
  std::uint32_t cut;  // most bytes of a packet
  std::uint32_t largest_message;
};

template <typename Requester, typename Outlet>
class TransportSender final : public RoceSender {
 public:
  /// Creates the sender from the parts of `make_requester(start)` and `make_outlet(start, batch)`.
  template <typename MakeRequester, typename MakeOutlet>
  TransportSender(const SenderConfig& config, const MakeRequester& make_requester, const MakeOutlet& make_outlet)
      : start_(config),
        batch_(start_.socket.fd(), start_.socket.destination(),
               wire::IcrcPath(start_.socket.local(), start_.socket.destination(), start_.config.options.framing),
               start_.config.destination.qpn, start_.config.options.gso && start_.socket.can_gso(),
               start_.socket.front()),
        return_(start_.socket, start_.self, start_.config.destination, start_.config.options, start_.config.credits),
        requester_(make_requester(start_)),
        outlet_(make_outlet(start_, batch_)),
        only_(start_.config.options.packetisation == Packetisation::only),
        psn_(start_.self.psn) {}

  [[nodiscard]] Endpoint endpoint() const override { return start_.self; }
  std::size_t post(std::span<const BufferDescriptor> writes) noexcept override;
  bool post_event(const Event& event) noexcept override;
  std::size_t poll(std::uint32_t wait_us) noexcept override;
  [[nodiscard]] std::size_t pending() const noexcept override;
  [[nodiscard]] std::uint64_t granted() const noexcept override {
    return credits() && !in_error() ? bound_.granted(return_.words().images) : kUnlimited;
  }
  [[nodiscard]] Answers answers() const noexcept override {
    // Without a window nothing that was lost is ever written off.
    const bool known = kReliable || (credits() && start_.config.options.window_bytes > 0);
    return {std::min(return_.words().bytes, counters_.payload_bytes.get()), known && !in_error() ? in_flight() : 0,
            in_error()};
  }
  [[nodiscard]] bool makes_payload_crc32c() const noexcept override { return true; }
  [[nodiscard]] std::optional<std::uint32_t> payload_crc32c() const noexcept override {
    return pending_active_ ? std::nullopt : std::optional(payload_crc_);
  }
  [[nodiscard]] std::uint32_t largest_message() const noexcept override { return start_.largest_message; }
  [[nodiscard]] Counts stats() const override;
  [[nodiscard]] FaultCounts injected() const noexcept override { return outlet_.counts(); }
  [[nodiscard]] const Fates* fates() const noexcept override { return outlet_.fates(); }

 private:
  static constexpr bool kReliable = Requester::kReliable;
  // Flushing after this number of bytes keeps a batch in the second-level cache between its ICRC and the kernel's copy.
  static constexpr std::size_t kFlushBytes = 120'000;
  // News that opens a full window is usually so near that sleeping would cost more than asking.
  static constexpr std::int64_t kSpinNs = 20'000;
  static constexpr std::uint32_t kLongestSleepUs = 1000;  // RC: its clock must be looked at
  // Without credits nothing but congestion notifications can come: so often is looked for them.
  static constexpr std::int64_t kNotificationNs = 10'000'000;

  [[nodiscard]] bool credits() const noexcept { return start_.config.flow == Flow::credits; }
  [[nodiscard]] bool in_error() const noexcept {
    if constexpr (kReliable) return requester_.in_error();
    return false;
  }
  [[nodiscard]] std::uint64_t in_flight() const noexcept { return requester_.in_flight(return_.words().bytes); }
  [[nodiscard]] bool window_open(std::uint64_t bytes) const noexcept {
    return requester_.open(bytes, return_.words().bytes);
  }
  bool packet_room() noexcept;
  bool room_for_new() noexcept;
  bool send_pending() noexcept;
  void send_line(std::uint32_t bytes) noexcept;
  void send(Outgoing& packet, Ends ends, std::uint64_t image) noexcept;
  void to_outlet(const Outgoing& packet, Ends ends, std::uint64_t image, bool again) noexcept;
  bool send_remembered() noexcept;
  bool flush(PacketBatch::Flush what) noexcept;
  bool read_return() noexcept;
  void look_for_notifications() noexcept;
  void look_at_clock() noexcept;
  void release() noexcept;
  void wait(std::uint32_t wait_us) noexcept;

  SenderStart start_;
  PacketBatch batch_;
  ReturnPath return_;
  CreditWords seen_{};  // of the return path, last looked at
  Requester requester_;
  Outlet outlet_;
  bool only_;  // every packet is a message
  std::uint32_t psn_;

  BufferDescriptor pending_{};      // the write being cut into packets
  std::uint32_t pending_done_ = 0;  // bytes of it
  bool pending_active_ = false;
  bool pending_last_ = false;      // of its batch: its end asks for an acknowledgement
  std::uint32_t payload_crc_ = 0;  // of all lines since the last event
  bool urgent_ = false;            // in the batch: an event, or a repetition
  std::size_t done_ = 0;           // handed to the kernel, or acknowledged where that is known; not yet reported
  std::int64_t last_look_ns_ = 0;  // for notifications, when nothing else can come
  bool error_counted_ = false;
  std::uint64_t refused_ = 0;  // datagrams, at the last look
  SenderCounters counters_;
  mutable CreditBound bound_{start_.config.slots, counters_.credits_refused, start_.config.events};
};

// True when one more packet can be made, whatever becomes of it.
template <typename Requester, typename Outlet>
bool TransportSender<Requester, Outlet>::packet_room() noexcept {
  if (batch_.full_bytes() >= kFlushBytes) flush(PacketBatch::Flush::full);
  if (!outlet_.ready()) flush(PacketBatch::Flush::all);
  return outlet_.ready();
}

// The same for a packet that was never sent: those that must be repeated go first, and it must be remembered.
template <typename Requester, typename Outlet>
bool TransportSender<Requester, Outlet>::room_for_new() noexcept {
  if constexpr (kReliable) {
    if (!requester_.room()) {
      flush(PacketBatch::Flush::all);
      read_return();
    }
    return requester_.room() && send_remembered() && packet_room();
  } else {
    return packet_room();
  }
}

template <typename Requester, typename Outlet>
void TransportSender<Requester, Outlet>::to_outlet(const Outgoing& packet, Ends ends, std::uint64_t image,
                                                   bool again) noexcept {
  const bool line = ends != Ends::event;
  if (line) {
    const std::uint32_t crc = outlet_.line(packet, payload_crc_);
    if (!again) payload_crc_ = crc;
  } else {
    outlet_.event(packet, image);
  }
  if (!line || again) urgent_ = true;
  counters_.packets.add(1);
}

// Hands over what is remembered and has to be sent; false when there is no room for all of it now.
template <typename Requester, typename Outlet>
bool TransportSender<Requester, Outlet>::send_remembered() noexcept {
  if constexpr (kReliable) {
    if (!requester_.behind()) return true;
    const std::int64_t now = now_ns();
    while (requester_.behind()) {
      const auto next = requester_.next(now);
      if (next.packet == nullptr || !packet_room()) return false;
      to_outlet(*next.packet, next.ends, next.image, next.again);
      requester_.handed_over();
    }
  }
  return true;
}

// Sends a new packet; there is room_for_new().
template <typename Requester, typename Outlet>
void TransportSender<Requester, Outlet>::send(Outgoing& packet, Ends ends, std::uint64_t image) noexcept {
  packet.psn = psn_;
  psn_ = (psn_ + 1) & wire::kPsnMask;
  if constexpr (kReliable) {
    requester_.push_new(packet, ends, image, ends == Ends::write && pending_last_);
    to_outlet(packet, ends, image, false);
    requester_.handed_over();
  } else {
    to_outlet(packet, ends, image, false);
    requester_.window().sent(packet.bytes);
  }
  counters_.payload_bytes.add(packet.bytes);
}

template <typename Requester, typename Outlet>
void TransportSender<Requester, Outlet>::send_line(std::uint32_t bytes) noexcept {
  const bool first = pending_done_ == 0;
  const bool last = pending_done_ + bytes == pending_.bytes;
  const Piece piece{.payload = pending_.source + pending_done_,
                    .destination = pending_.destination + pending_done_,
                    .bytes = bytes,
                    .message_bytes = only_ ? bytes : pending_.bytes,
                    .first = only_ || first,
                    .last = only_ || last};
  Outgoing packet;
  packet.payload = piece.payload;
  packet.bytes = bytes;
  requester_.line(piece, packet);
  send(packet, last ? Ends::write : Ends::nothing, 0);
  if (piece.first) counters_.messages.add(1);
}

// Cuts the write at hand into packets; false when there is no room for all of them now.
template <typename Requester, typename Outlet>
bool TransportSender<Requester, Outlet>::send_pending() noexcept {
  while (pending_active_) {
    if (pending_done_ == pending_.bytes) {
      pending_active_ = false;
      if constexpr (!kReliable) requester_.staged();
      break;
    }
    if (in_error()) {
      pending_active_ = false;
      ++done_;
      counters_.send_errors.add(1);
      break;
    }
    if (!room_for_new()) {
      if (in_error()) continue;
      return false;
    }
    const std::uint32_t bytes = std::min(start_.cut, pending_.bytes - pending_done_);
    send_line(bytes);
    pending_done_ += bytes;
  }
  return true;
}

template <typename Requester, typename Outlet>
std::size_t TransportSender<Requester, Outlet>::post(std::span<const BufferDescriptor> writes) noexcept {
  std::size_t taken = 0;
  for (const BufferDescriptor& write : writes) {
    if (!send_pending()) break;
    if (write.bytes == 0) {  // nothing to send
      ++taken;
      ++done_;
      continue;
    }
    if (!window_open(write.bytes)) {
      flush(PacketBatch::Flush::all);
      read_return();
      if (!window_open(write.bytes)) {
        counters_.waits.add(1);
        break;
      }
    }
    pending_ = write;
    pending_done_ = 0;
    pending_active_ = true;
    ++taken;
    pending_last_ = taken == writes.size();
    if (!send_pending()) {
      pending_last_ = true;
      break;
    }
  }
  return taken;
}

template <typename Requester, typename Outlet>
bool TransportSender<Requester, Outlet>::post_event(const Event& event) noexcept {
  const bool ready = send_pending() && room_for_new();
  if (in_error()) {
    counters_.send_errors.add(1);
    return true;
  }
  if (!ready) {
    counters_.waits.add(1);
    return false;
  }
  Outgoing packet;
  packet.has_immediate = true;
  packet.immediate = event.immediate;
  packet.payload = event.record;
  packet.bytes = static_cast<std::uint32_t>(FrameRecord::kBytes);
  requester_.event(event, packet);
  std::uint64_t image = 0;
  if constexpr (Outlet::kNamesImages) {
    const auto record = decode_frame_record({event.record, FrameRecord::kBytes});
    const bool of_image = record && (record->flags & FrameRecord::skipped) == 0;
    image = of_image ? record->index : start_.config.images;
    if (record && (record->flags & kPartFlag) != 0) image = kPartOfImage;
  }
  send(packet, Ends::event, image);
  bound_.announce(event.immediate);
  payload_crc_ = 0;
  counters_.messages.add(1);
  return true;
}

// Hands the batch to the kernel; true when something was there to be sent and all of it went.
template <typename Requester, typename Outlet>
bool TransportSender<Requester, Outlet>::flush(PacketBatch::Flush what) noexcept {
  if (batch_.empty()) {
    // RC: the injector dropped the last packets, and earlier ones acknowledged them: nothing holds them.
    if constexpr (kReliable) requester_.batch_empty();
    return false;
  }
  const bool all = batch_.flush(what) == PacketBatch::Sent::all;
  if constexpr (!kReliable) requester_.window().flushed();
  if (all) {
    urgent_ = false;
    outlet_.batch_sent();
    done_ += requester_.batch_empty();
  } else if (what == PacketBatch::Flush::all) {
    counters_.waits.add(1);
  }
  if (batch_.errors() != refused_) {
    counters_.send_errors.add(batch_.errors() - refused_);
    refused_ = batch_.errors();
  }
  return all;
}

// Takes what the receiver has sent; true when it is news.
template <typename Requester, typename Outlet>
bool TransportSender<Requester, Outlet>::read_return() noexcept {
  const std::int64_t now = now_ns();
  if constexpr (kReliable) {
    const std::uint64_t unacknowledged = requester_.unacknowledged();
    const bool behind = requester_.behind();
    return_.take(&requester_, now);
    const CreditWords before = std::exchange(seen_, return_.words());
    release();
    return seen_.images != before.images || requester_.unacknowledged() != unacknowledged ||
           requester_.behind() != behind;
  } else {
    return_.take(nullptr, now);
    const CreditWords before = std::exchange(seen_, return_.words());
    requester_.window().looked(seen_.bytes, return_.repeats(), now);
    return seen_.bytes != before.bytes || seen_.images != before.images;
  }
}

// Reports what is acknowledged, and once what a connection in error has lost.
template <typename Requester, typename Outlet>
void TransportSender<Requester, Outlet>::release() noexcept {
  if constexpr (kReliable) {
    done_ += requester_.release([this](std::uint64_t image) { outlet_.event_acknowledged(image); });
    if (!requester_.in_error() || error_counted_) return;
    error_counted_ = true;
    counters_.send_errors.add(requester_.lost());
  }
}

template <typename Requester, typename Outlet>
void TransportSender<Requester, Outlet>::look_at_clock() noexcept {
  const std::int64_t now = now_ns();
  if constexpr (kReliable) {
    requester_.tick(now);
    send_remembered();
    release();
  } else if (requester_.window().write_off(start_.largest_message, return_.words().bytes, now)) {
    counters_.window_timeouts.add(1);
  }
}

template <typename Requester, typename Outlet>
void TransportSender<Requester, Outlet>::look_for_notifications() noexcept {
  const std::int64_t now = now_ns();
  if (now - last_look_ns_ < kNotificationNs) return;
  last_look_ns_ = now;
  return_.take(nullptr, now);
}

template <typename Requester, typename Outlet>
void TransportSender<Requester, Outlet>::wait(std::uint32_t wait_us) noexcept {
  const bool flying = in_flight() != 0;
  if (flying) {
    const std::int64_t end = now_ns() + std::min<std::int64_t>(kSpinNs, std::int64_t{wait_us} * 1000);
    while (now_ns() < end) {
      if (read_return()) return;
    }
  }
  const bool room = !batch_.empty() && !return_.shared();
  pollfd ready{return_.fd(), static_cast<short>(POLLIN | (room ? POLLOUT : 0)), 0};
  std::uint32_t longest = wait_us;
  if (kReliable && flying) longest = std::min(longest, kLongestSleepUs);
  timespec limit{longest / 1'000'000, static_cast<long>(longest % 1'000'000) * 1000};
  ppoll(&ready, 1, &limit, nullptr);
}

template <typename Requester, typename Outlet>
std::size_t TransportSender<Requester, Outlet>::poll(std::uint32_t wait_us) noexcept {
  send_pending();
  // In the middle of an image a datagram may go on growing; its event or a caller that waits sends everything.
  bool progress = flush(wait_us == 0 && !urgent_ ? PacketBatch::Flush::full : PacketBatch::Flush::all);
  const bool listens = kReliable || credits();
  const bool look = listens && (!progress || in_flight() > start_.config.options.window_bytes / 2);
  if (look && read_return()) progress = true;
  if (!progress && wait_us > 0 && outlet_.held() != 0 && batch_.empty()) {
    outlet_.release_held();
    progress = flush(PacketBatch::Flush::all);
  }
  if (!progress && done_ == 0 && wait_us > 0) {
    wait(wait_us);
    flush(PacketBatch::Flush::all);
    read_return();
  }
  if (!listens) look_for_notifications();
  look_at_clock();
  return std::exchange(done_, 0);
}

template <typename Requester, typename Outlet>
std::size_t TransportSender<Requester, Outlet>::pending() const noexcept {
  std::size_t waiting = batch_.packets();
  if constexpr (kReliable) waiting = requester_.unacknowledged();
  return waiting + outlet_.held() + (pending_active_ ? 1 : 0);
}

template <typename Requester, typename Outlet>
Counts TransportSender<Requester, Outlet>::stats() const {
  Counts counts;
  counters_.add_to(counts);
  counts.add("cnps_received", return_.cnps());
  counts.add("credits_refused", return_.refused());
  if constexpr (kReliable) requester_.counts().add_to(counts);
  return counts;
}

}  // namespace rashpa::link::roce
