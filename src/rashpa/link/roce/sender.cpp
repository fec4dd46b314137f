#include "rashpa/link/roce/sender.hpp"

#include <poll.h>

#include <algorithm>

#include "rashpa/core/checksum.hpp"
#include "rashpa/core/clock.hpp"
#include "rashpa/link/roce/sender_impl.hpp"

namespace rashpa::link::roce {

namespace {

// Flushing after so many bytes keeps a batch in the second-level cache between its ICRC and the kernel's copy.
constexpr std::size_t kFlushBytes = 120'000;
// News that opens a full window is usually so near that sleeping would cost more than asking.
constexpr std::int64_t kSpinNs = 20'000;
constexpr std::uint32_t kLongestSleepUs = 1000;  // RC: its clock must be looked at
// Without credits nothing but congestion notifications can come: so often is looked for them.
constexpr std::int64_t kNotificationNs = 10'000'000;

}  // namespace

std::uint64_t RoceSender::Impl::in_flight() const noexcept {
  return rc_ ? rc_->unacknowledged_bytes() : window_.in_flight(return_.words());
}

bool RoceSender::Impl::window_open(std::uint64_t bytes) const noexcept {
  if (!rc_) return window_.open(bytes, return_.words());
  const std::uint64_t flying = rc_->unacknowledged_bytes();
  return !windowed() || flying == 0 || flying + bytes <= config_.options.window_bytes;
}

// True when one more packet can be made, whatever becomes of it.
bool RoceSender::Impl::packet_room() noexcept {
  const auto ready = [this] { return injector_ ? injector_->ready() : batch_.room() > 0; };
  if (batch_.full_bytes() >= kFlushBytes) flush(PacketBatch::Flush::full);
  if (!ready()) flush(PacketBatch::Flush::all);
  return ready();
}

// The same for a packet that was never sent: with RC those that must be repeated go first, and it must be remembered.
bool RoceSender::Impl::room_for_new() noexcept {
  if (!rc_) return packet_room();
  if (!rc_->room()) {
    flush(PacketBatch::Flush::all);
    read_return();
  }
  return rc_->room() && send_remembered() && packet_room();
}

void RoceSender::Impl::to_batch(const Outgoing& packet, Ends ends, std::uint64_t image, bool again) noexcept {
  const bool line = ends != Ends::event;
  if (injector_) {
    if (line && !again) payload_crc_ = crc32c({packet.payload, packet.bytes}, payload_crc_);
    if (line) {
      injector_->line(packet);
    } else {
      injector_->event(packet, image);
    }
  } else {
    const std::uint32_t crc = batch_.append(packet, payload_crc_);
    if (line && !again) payload_crc_ = crc;
  }
  if (!line || again) urgent_ = true;
  packets_.add(1);
}

// Hands over what RC remembers and has to send; false when there is no room for all of it now.
bool RoceSender::Impl::send_remembered() noexcept {
  if (!rc_->behind()) return true;
  const std::int64_t now = now_ns();
  while (rc_->behind()) {
    const RcRequester::Next next = rc_->next(now);
    if (next.packet == nullptr || !packet_room()) return false;
    to_batch(*next.packet, next.ends, next.image, next.again);
    rc_->handed_over();
  }
  return true;
}

// Sends a new packet; there is room_for_new().
void RoceSender::Impl::send(Outgoing& packet, Ends ends, std::uint64_t image) noexcept {
  packet.psn = psn_;
  psn_ = (psn_ + 1) & wire::kPsnMask;
  if (rc_) {
    packet.opcode = wire::as_rc(packet.opcode);
    packet.ack_request = ends == Ends::event || (ends == Ends::write && pending_last_) || ++since_ask_ >= ask_every_;
    if (packet.ack_request) since_ask_ = 0;
    rc_->push(packet, ends, image);
    to_batch(packet, ends, image, false);
    rc_->handed_over();
  } else {
    to_batch(packet, ends, image, false);
    window_.sent(packet.bytes);
  }
  payload_bytes_.add(packet.bytes);
}

void RoceSender::Impl::send_line(std::uint32_t bytes) noexcept {
  const bool only = config_.options.packetisation == Packetisation::only || pending_.bytes <= cut_;
  const bool first = pending_done_ == 0;
  const bool last = pending_done_ + bytes == pending_.bytes;
  const std::uint64_t offset = pending_.destination + pending_done_;
  Outgoing packet;
  packet.payload = pending_.source + pending_done_;
  packet.bytes = bytes;
  if (ud()) {
    packet.opcode = wire::ud_send_only;
    packet.has_deth = true;
    packet.deth = {qkey_of(config_.destination.rkey), self_.qpn};
    packet.line = {offset, bytes, wire::LineHeader::line};
  } else {
    packet.opcode = only ? wire::write_only : first ? wire::write_first : last ? wire::write_last : wire::write_middle;
    packet.has_reth = only || first;
    packet.reth = {offset, config_.destination.rkey, only ? bytes : pending_.bytes};
  }
  send(packet, last ? Ends::write : Ends::nothing, 0);
  if (only || first) messages_.add(1);
}

// Cuts the write at hand into packets; false when there is no room for all of them now.
bool RoceSender::Impl::send_pending() noexcept {
  while (pending_active_) {
    if (pending_done_ == pending_.bytes) {
      pending_active_ = false;
      if (!rc_) ++staged_writes_;
      break;
    }
    if (in_error()) {
      pending_active_ = false;
      ++done_;
      send_errors_.add(1);
      break;
    }
    if (!room_for_new()) {
      if (in_error()) continue;
      return false;
    }
    const std::uint32_t bytes = std::min(cut_, pending_.bytes - pending_done_);
    send_line(bytes);
    pending_done_ += bytes;
  }
  return true;
}

std::size_t RoceSender::Impl::post(std::span<const BufferDescriptor> writes) noexcept {
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
        waits_.add(1);
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

bool RoceSender::Impl::post_event(const Event& event) noexcept {
  const bool ready = send_pending() && room_for_new();
  if (in_error()) {
    send_errors_.add(1);
    return true;
  }
  if (!ready) {
    waits_.add(1);
    return false;
  }
  constexpr auto kBytes = static_cast<std::uint32_t>(FrameRecord::kBytes);
  Outgoing packet;
  packet.has_immediate = true;
  packet.immediate = event.immediate;
  packet.payload = event.record;
  packet.bytes = kBytes;
  if (ud()) {
    packet.opcode = wire::ud_send_only_imm;
    packet.has_deth = true;
    packet.deth = {qkey_of(config_.destination.rkey), self_.qpn};
    packet.line = {event.destination, kBytes, wire::LineHeader::record};
  } else {
    packet.opcode = wire::write_only_imm;
    packet.has_reth = true;
    packet.reth = {event.destination, config_.destination.rkey, kBytes};
  }
  const auto record = injector_ ? decode_frame_record({event.record, FrameRecord::kBytes}) : std::nullopt;
  send(packet, Ends::event, record ? record->index : config_.images);
  payload_crc_ = 0;
  messages_.add(1);
  return true;
}

// Hands the batch to the kernel; true when something was there to be sent and all of it went.
bool RoceSender::Impl::flush(PacketBatch::Flush what) noexcept {
  if (batch_.empty()) {
    // What was handed over last was dropped by the injector, and acknowledged by what had gone before: nothing holds
    // it.
    if (rc_) rc_->batch_empty();
    return false;
  }
  const bool all = batch_.flush(what) == PacketBatch::Sent::all;
  window_.flushed();
  if (all) {
    urgent_ = false;
    if (injector_) injector_->batch_sent();
    if (rc_) rc_->batch_empty();
    done_ += staged_writes_;
    staged_writes_ = 0;
  } else if (what == PacketBatch::Flush::all) {
    waits_.add(1);
  }
  if (batch_.errors() != refused_) {
    send_errors_.add(batch_.errors() - refused_);
    refused_ = batch_.errors();
  }
  return all;
}

// Takes what the receiver has sent; true when it is news.
bool RoceSender::Impl::read_return() noexcept {
  const std::int64_t now = now_ns();
  const std::uint64_t unacknowledged = rc_ ? rc_->unacknowledged() : 0;
  const bool behind = rc_ && rc_->behind();
  return_.take(rc_ ? &*rc_ : nullptr, now);
  const CreditWords before = std::exchange(seen_, return_.words());
  if (!rc_) {
    window_.looked(before, seen_, return_.repeats(), now);
    return seen_.bytes != before.bytes || seen_.images != before.images;
  }
  release();
  return seen_.images != before.images || rc_->unacknowledged() != unacknowledged || rc_->behind() != behind;
}

// RC: reports what is acknowledged, and once what a connection in error has lost.
void RoceSender::Impl::release() noexcept {
  done_ += rc_->release([this](std::uint64_t image) {
    if (injector_) injector_->event_acknowledged(image);
  });
  if (!rc_->in_error() || error_counted_) return;
  error_counted_ = true;
  send_errors_.add(rc_->lost());
}

void RoceSender::Impl::look_at_clock() noexcept {
  const std::int64_t now = now_ns();
  if (!rc_) {
    if (window_.write_off(largest_message_, return_.words(), now)) window_timeouts_.add(1);
    return;
  }
  rc_->tick(now);
  send_remembered();
  release();
}

void RoceSender::Impl::look_for_notifications() noexcept {
  const std::int64_t now = now_ns();
  if (now - last_look_ns_ < kNotificationNs) return;
  last_look_ns_ = now;
  return_.take(nullptr, now);
}

void RoceSender::Impl::wait(std::uint32_t wait_us) noexcept {
  if (in_flight() != 0) {
    const std::int64_t end = now_ns() + std::min<std::int64_t>(kSpinNs, std::int64_t{wait_us} * 1000);
    while (now_ns() < end) {
      if (read_return()) return;
    }
  }
  const bool room = !batch_.empty() && !return_.shared();
  pollfd ready{return_.fd(), static_cast<short>(POLLIN | (room ? POLLOUT : 0)), 0};
  std::uint32_t longest = wait_us;
  if (in_flight() != 0) longest = std::min(longest, rc_ ? kLongestSleepUs : config_.window_timeout_us);
  timespec limit{longest / 1'000'000, static_cast<long>(longest % 1'000'000) * 1000};
  ppoll(&ready, 1, &limit, nullptr);
}

std::size_t RoceSender::Impl::poll(std::uint32_t wait_us) noexcept {
  send_pending();
  // In the middle of an image a datagram may go on growing; its event or a caller that waits sends everything.
  bool progress = flush(wait_us == 0 && !urgent_ ? PacketBatch::Flush::full : PacketBatch::Flush::all);
  const bool listens = credits() || rc_;
  const bool look = listens && (!progress || in_flight() > config_.options.window_bytes / 2);
  if (look && read_return()) progress = true;
  if (!progress && wait_us > 0 && injector_ && injector_->held() != 0 && batch_.empty()) {
    injector_->release_held();
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

std::size_t RoceSender::Impl::pending() const noexcept {
  const std::size_t held = injector_ ? injector_->held() : 0;
  return (rc_ ? rc_->unacknowledged() : batch_.packets()) + held + (pending_active_ ? 1 : 0);
}

std::uint64_t RoceSender::Impl::granted() const noexcept {
  return credits() && !in_error() ? return_.words().images : kUnlimited;
}

RoceSender::RoceSender(const SenderConfig& config) : impl_(std::make_unique<Impl>(config)) {}
RoceSender::~RoceSender() = default;

Endpoint RoceSender::endpoint() const { return impl_->self_; }
std::size_t RoceSender::post(std::span<const BufferDescriptor> writes) { return impl_->post(writes); }
bool RoceSender::post_event(const Event& event) { return impl_->post_event(event); }
std::size_t RoceSender::poll(std::uint32_t wait_us) { return impl_->poll(wait_us); }
std::size_t RoceSender::pending() const noexcept { return impl_->pending(); }
std::uint64_t RoceSender::granted() const noexcept { return impl_->granted(); }
std::optional<std::uint32_t> RoceSender::payload_crc32c() const noexcept {
  return impl_->pending_active_ ? std::nullopt : std::optional(impl_->payload_crc_);
}
std::uint32_t RoceSender::largest_message() const noexcept { return impl_->largest_message_; }

SenderStats RoceSender::stats() const noexcept {
  SenderStats stats{.messages = impl_->messages_.get(),
                    .packets = impl_->packets_.get(),
                    .payload_bytes = impl_->payload_bytes_.get(),
                    .waits = impl_->waits_.get(),
                    .window_timeouts = impl_->window_timeouts_.get(),
                    .send_errors = impl_->send_errors_.get(),
                    .cnps_received = impl_->return_.cnps()};
  if (impl_->rc_) {
    const RcRequester::Counts& rc = impl_->rc_->counts();
    stats.acks = rc.acks.get();
    stats.naks = rc.naks.get();
    stats.rnr_naks = rc.rnr_naks.get();
    stats.retransmitted_packets = rc.retransmitted.get();
    stats.retransmission_timeouts = rc.timeouts.get();
    stats.connection_errors = rc.errors.get();
  }
  return stats;
}

FaultCounts RoceSender::injected() const noexcept {
  return impl_->injector_ ? impl_->injector_->counts() : FaultCounts{};
}
const FateLog* RoceSender::fates() const noexcept { return impl_->injector_ ? &impl_->injector_->log() : nullptr; }

}  // namespace rashpa::link::roce
