#include "rashpa/link/roce/sender.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <random>

#include "rashpa/core/checksum.hpp"
#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/credit_listener.hpp"
#include "rashpa/link/roce/credits.hpp"
#include "rashpa/link/roce/fault_injector.hpp"
#include "rashpa/link/roce/packet_batch.hpp"
#include "rashpa/link/roce/source_socket.hpp"

namespace rashpa::link::roce {

namespace {

// Flushing after so many bytes keeps a batch in the second-level cache between its ICRC and the kernel's copy.
constexpr std::size_t kFlushBytes = 120'000;
constexpr std::uint32_t kLongestMessage = 256;  // packets
// News that opens a full window is usually so near that sleeping would cost more than asking.
constexpr std::int64_t kSpinNs = 20'000;
constexpr unsigned kQuietLooks = 3;
// Without credits nothing but congestion notifications can come: so often is looked for them.
constexpr std::int64_t kNotificationNs = 10'000'000;

std::uint32_t random_below(std::uint32_t end) { return std::random_device{}() % end; }

}  // namespace

class RoceSender::Impl {
 public:
  explicit Impl(const SenderConfig& config);
  std::size_t post(std::span<const BufferDescriptor> writes) noexcept;
  bool post_event(const Event& event) noexcept;
  std::size_t poll(std::uint32_t wait_us) noexcept;
  [[nodiscard]] std::size_t pending() const noexcept;

  [[nodiscard]] bool credits() const noexcept { return config_.flow == Flow::credits; }
  [[nodiscard]] bool windowed() const noexcept { return credits() && config_.options.window_bytes != 0; }
  [[nodiscard]] std::uint64_t in_flight() const noexcept;
  [[nodiscard]] CreditWords words() const noexcept {
    return config_.credits ? config_.credits->words(listener_number_) : reader_.words();
  }
  [[nodiscard]] std::uint64_t cnps() const noexcept {
    return config_.credits ? config_.credits->cnps(listener_number_) : reader_.cnps();
  }
  bool window_open(std::uint32_t bytes) noexcept;
  bool packet_room() noexcept;
  bool send_pending() noexcept;
  void send_line(std::uint32_t bytes) noexcept;
  bool flush(PacketBatch::Flush what) noexcept;
  bool read_credits() noexcept;
  void take_own() noexcept;
  void look_for_notifications() noexcept;
  void check_window_timeout() noexcept;
  void wait(std::uint32_t wait_us) noexcept;

  SenderConfig config_;
  std::uint32_t qpn_;
  SourceSocket socket_;
  Endpoint self_;
  PacketBatch batch_;
  CreditReader reader_;
  std::size_t listener_number_ = 0;  // when credits come to a shared socket
  CreditWords seen_{};               // of words(), last looked at
  std::optional<FaultInjector> injector_;
  std::uint32_t largest_message_;
  std::uint32_t psn_;

  BufferDescriptor pending_{};      // the write being cut into packets
  std::uint32_t pending_done_ = 0;  // bytes of it
  bool pending_active_ = false;
  std::uint32_t payload_crc_ = 0;  // of all lines since the last event
  bool event_staged_ = false;
  std::size_t staged_writes_ = 0;  // wholly in the batch
  std::size_t done_ = 0;           // handed to the kernel, not yet reported

  std::uint64_t sent_bytes_ = 0;
  std::uint64_t written_off_ = 0;  // bytes taken as lost
  std::int64_t last_news_ns_ = 0;
  std::int64_t last_look_ns_ = 0;  // for notifications, without credits
  std::uint64_t repeats_ = 0;      // of the credit reader, at the last look
  unsigned quiet_looks_ = 0;       // looks since the last packet or news that found the receiver repeating itself
  Counter messages_, packets_, payload_bytes_, waits_, window_timeouts_, send_errors_;
};

RoceSender::Impl::Impl(const SenderConfig& config)
    : config_((check(config.options), config)),
      qpn_(wire::kFirstQpn + random_below(1U << 20)),
      socket_(config, qpn_),
      self_{socket_.local().text(), socket_.local().port(), qpn_, std::random_device{}(), 0},
      batch_(socket_.fd(), socket_.destination(),
             IcrcPath(socket_.local(), socket_.destination(), config.options.framing), config.destination.qpn,
             config.options.gso && socket_.can_gso(), socket_.front()),
      reader_(self_, socket_.destination(), socket_.local(), CreditReader::Port::same, config.options.framing),
      psn_(random_below(1U << 24)),
      last_news_ns_(now_ns()) {
  if (config.credits) {
    self_.port = config.credits->port();
    listener_number_ = config.credits->add(self_, socket_.destination());
  }
  if (config_.destination.window_bytes != 0 && windowed()) {
    // The destination knows what its socket has room for; at least two packets, or nothing would overlap.
    const std::uint64_t room = std::max<std::uint64_t>(config_.destination.window_bytes, 2ULL * config_.options.pmtu);
    config_.options.window_bytes = std::min(config_.options.window_bytes, room);
  }
  const Options& options = config_.options;
  if (windowed() && options.window_bytes < options.pmtu) {
    throw ConfigError(
        fmt::format("roce: a window of {} bytes is less than one packet of {}", options.window_bytes, options.pmtu));
  }
  largest_message_ = options.pmtu;
  if (options.packetisation == Packetisation::first_middle_last) {
    const std::uint64_t fits = windowed() ? options.window_bytes / 4 / options.pmtu : kLongestMessage;
    largest_message_ = options.pmtu * static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fits, 1, kLongestMessage));
  }
  if (config.faults) {
    injector_.emplace(*config.faults, config.dtp, config.images, config.payload_bytes, options.pmtu, batch_);
  }
}

std::uint64_t RoceSender::Impl::in_flight() const noexcept {
  const std::uint64_t gone = written_off_ + words().bytes;
  return sent_bytes_ > gone ? sent_bytes_ - gone : 0;
}

bool RoceSender::Impl::window_open(std::uint32_t bytes) noexcept {
  if (!windowed()) return true;
  const std::uint64_t flying = in_flight();
  return flying == 0 || flying + bytes <= config_.options.window_bytes;
}

// True when one more packet can be made, whatever becomes of it.
bool RoceSender::Impl::packet_room() noexcept {
  const auto ready = [this] { return injector_ ? injector_->ready() : batch_.room() > 0; };
  if (batch_.full_bytes() >= kFlushBytes) flush(PacketBatch::Flush::full);
  if (!ready()) flush(PacketBatch::Flush::all);
  return ready();
}

void RoceSender::Impl::send_line(std::uint32_t bytes) noexcept {
  const bool only = config_.options.packetisation == Packetisation::only || pending_.bytes <= config_.options.pmtu;
  const bool first = pending_done_ == 0;
  const bool last = pending_done_ + bytes == pending_.bytes;
  Outgoing packet;
  packet.opcode = only ? wire::write_only : first ? wire::write_first : last ? wire::write_last : wire::write_middle;
  packet.has_reth = only || first;
  packet.psn = psn_;
  packet.reth = {pending_.destination + pending_done_, config_.destination.rkey, only ? bytes : pending_.bytes};
  packet.payload = pending_.source + pending_done_;
  packet.bytes = bytes;
  psn_ = (psn_ + 1) & wire::kPsnMask;
  if (injector_) {
    payload_crc_ = crc32c({packet.payload, bytes}, payload_crc_);
    injector_->line(packet);
  } else {
    payload_crc_ = batch_.append(packet, payload_crc_);
  }
  packets_.add(1);
  if (only || first) messages_.add(1);
  payload_bytes_.add(bytes);
  sent_bytes_ += bytes;
}

// Cuts the write at hand into packets; false when there is no room for all of them now.
bool RoceSender::Impl::send_pending() noexcept {
  while (pending_active_) {
    if (pending_done_ == pending_.bytes) {
      pending_active_ = false;
      ++staged_writes_;
      break;
    }
    if (!packet_room()) return false;
    const std::uint32_t bytes = std::min(config_.options.pmtu, pending_.bytes - pending_done_);
    send_line(bytes);
    pending_done_ += bytes;
  }
  return true;
}

std::size_t RoceSender::Impl::post(std::span<const BufferDescriptor> writes) noexcept {
  std::size_t taken = 0;
  for (const BufferDescriptor& write : writes) {
    if (!send_pending()) break;
    if (!window_open(write.bytes)) {
      flush(PacketBatch::Flush::all);
      read_credits();
      if (!window_open(write.bytes)) {
        waits_.add(1);
        break;
      }
    }
    pending_ = write;
    pending_done_ = 0;
    pending_active_ = true;
    ++taken;
    if (!send_pending()) break;
  }
  return taken;
}

bool RoceSender::Impl::post_event(const Event& event) noexcept {
  if (!send_pending() || !packet_room()) {
    waits_.add(1);
    return false;
  }
  Outgoing packet;
  packet.opcode = wire::write_only_imm;
  packet.has_reth = packet.has_immediate = true;
  packet.psn = psn_;
  packet.reth = {event.destination, config_.destination.rkey, static_cast<std::uint32_t>(FrameRecord::kBytes)};
  packet.immediate = event.immediate;
  packet.payload = event.record;
  packet.bytes = FrameRecord::kBytes;
  psn_ = (psn_ + 1) & wire::kPsnMask;
  payload_crc_ = 0;
  event_staged_ = true;
  if (injector_) {
    const auto record = decode_frame_record({event.record, FrameRecord::kBytes});
    injector_->event(packet, record ? record->index : config_.images);
  } else {
    batch_.append(packet);
  }
  packets_.add(1);
  messages_.add(1);
  payload_bytes_.add(packet.bytes);
  sent_bytes_ += packet.bytes;
  return true;
}

// Hands the batch to the kernel; true when something was there to be sent and all of it went.
bool RoceSender::Impl::flush(PacketBatch::Flush what) noexcept {
  if (batch_.empty()) return false;
  const bool all = batch_.flush(what) == PacketBatch::Sent::all;
  quiet_looks_ = 0;
  if (all) {
    event_staged_ = false;
    if (injector_) injector_->batch_sent();
    done_ += staged_writes_;
    staged_writes_ = 0;
  } else if (what == PacketBatch::Flush::all) {
    waits_.add(1);
  }
  if (batch_.errors() != send_errors_.get()) send_errors_.add(batch_.errors() - send_errors_.get());
  return all;
}

// Takes credits that came to the sender's own socket.
void RoceSender::Impl::take_own() noexcept {
  constexpr std::size_t kPackets = 16;
  constexpr std::size_t kBytes = 256;
  std::array<std::array<std::byte, kBytes>, kPackets> bytes;  // NOLINT: filled by the kernel
  std::array<sockaddr_storage, kPackets> from{};
  std::array<iovec, kPackets> pieces{};
  std::array<mmsghdr, kPackets> messages{};
  for (std::size_t i = 0; i < kPackets; ++i) {
    pieces[i] = {bytes[i].data(), kBytes};
    messages[i].msg_hdr.msg_name = &from[i];
    messages[i].msg_hdr.msg_iov = &pieces[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  int count = 0;
  do {
    for (std::size_t i = 0; i < kPackets; ++i) messages[i].msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    count = recvmmsg(socket_.fd(), messages.data(), kPackets, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      std::span<std::byte> packet = std::span(bytes[at]).first(messages[at].msg_len);
      Address sender(from[at]);
      if (socket_.unwrap(packet, sender)) reader_.take(packet, sender);
    }
  } while (count == static_cast<int>(kPackets));
}

// Takes what the receiver has written; true when a word has grown since the last call.
bool RoceSender::Impl::read_credits() noexcept {
  if (config_.credits) {
    config_.credits->take();
  } else {
    take_own();
  }
  const CreditWords before = std::exchange(seen_, words());
  if (const std::uint64_t repeats = std::exchange(repeats_, reader_.repeats()); repeats != repeats_) ++quiet_looks_;
  const CreditWords& now = seen_;
  if (now.bytes != before.bytes) {
    last_news_ns_ = now_ns();
    quiet_looks_ = 0;
    // What was taken for lost came after all (or came twice): forget the part that the words now explain.
    if (now.bytes >= sent_bytes_) {
      written_off_ = 0;
    } else {
      written_off_ = std::min(written_off_, sent_bytes_ - now.bytes);
    }
  }
  return now.bytes != before.bytes || now.images != before.images;
}

// Bytes in flight are lost when the receiver, its socket empty, has repeated itself since the last packet left; the
// first such look may find repetitions from before, hence three. Or when it has been silent for very long.
void RoceSender::Impl::check_window_timeout() noexcept {
  if (!windowed() || in_flight() == 0) return;
  const std::int64_t now = now_ns();
  const bool said_so = quiet_looks_ >= kQuietLooks;
  if (!said_so && now - last_news_ns_ < std::int64_t{config_.window_timeout_us} * 1000) return;
  if (!window_open(largest_message_)) window_timeouts_.add(1);
  const std::uint64_t known = words().bytes;
  written_off_ = sent_bytes_ > known ? sent_bytes_ - known : 0;
  last_news_ns_ = now;
  quiet_looks_ = 0;
}

void RoceSender::Impl::look_for_notifications() noexcept {
  const std::int64_t now = now_ns();
  if (now - last_look_ns_ < kNotificationNs) return;
  last_look_ns_ = now;
  take_own();
}

void RoceSender::Impl::wait(std::uint32_t wait_us) noexcept {
  if (in_flight() != 0) {
    const std::int64_t end = now_ns() + std::min<std::int64_t>(kSpinNs, std::int64_t{wait_us} * 1000);
    while (now_ns() < end) {
      if (read_credits()) return;
    }
  }
  const int news = config_.credits ? config_.credits->fd() : socket_.fd();
  pollfd ready{news, static_cast<short>(POLLIN | (batch_.empty() || config_.credits ? 0 : POLLOUT)), 0};
  const std::uint32_t longest = in_flight() != 0 ? std::min(wait_us, config_.window_timeout_us) : wait_us;
  timespec limit{longest / 1'000'000, static_cast<long>(longest % 1'000'000) * 1000};
  ppoll(&ready, 1, &limit, nullptr);
}

std::size_t RoceSender::Impl::poll(std::uint32_t wait_us) noexcept {
  send_pending();
  // In the middle of an image a datagram may go on growing; its event or a caller that waits sends everything.
  bool progress = flush(wait_us == 0 && !event_staged_ ? PacketBatch::Flush::full : PacketBatch::Flush::all);
  const bool look = credits() && (!progress || in_flight() > config_.options.window_bytes / 2);
  if (look && read_credits()) progress = true;
  if (!progress && wait_us > 0 && injector_ && injector_->held() != 0 && batch_.empty()) {
    injector_->release_held();
    progress = flush(PacketBatch::Flush::all);
  }
  if (!progress && done_ == 0 && wait_us > 0) {
    wait(wait_us);
    flush(PacketBatch::Flush::all);
    read_credits();
  }
  if (!credits()) look_for_notifications();
  check_window_timeout();
  return std::exchange(done_, 0);
}

std::size_t RoceSender::Impl::pending() const noexcept {
  const std::size_t held = injector_ ? injector_->held() : 0;
  return batch_.packets() + held + (pending_active_ ? 1 : 0);
}

RoceSender::RoceSender(const SenderConfig& config) : impl_(std::make_unique<Impl>(config)) {}
RoceSender::~RoceSender() = default;

Endpoint RoceSender::endpoint() const { return impl_->self_; }
std::size_t RoceSender::post(std::span<const BufferDescriptor> writes) { return impl_->post(writes); }
bool RoceSender::post_event(const Event& event) { return impl_->post_event(event); }
std::size_t RoceSender::poll(std::uint32_t wait_us) { return impl_->poll(wait_us); }
std::size_t RoceSender::pending() const noexcept { return impl_->pending(); }
std::uint64_t RoceSender::granted() const noexcept { return impl_->credits() ? impl_->words().images : kUnlimited; }
std::optional<std::uint32_t> RoceSender::payload_crc32c() const noexcept {
  return impl_->pending_active_ ? std::nullopt : std::optional(impl_->payload_crc_);
}
std::uint32_t RoceSender::largest_message() const noexcept { return impl_->largest_message_; }

SenderStats RoceSender::stats() const noexcept {
  return {impl_->messages_.get(), impl_->packets_.get(),         impl_->payload_bytes_.get(),
          impl_->waits_.get(),    impl_->window_timeouts_.get(), impl_->send_errors_.get(),
          impl_->cnps()};
}

FaultCounts RoceSender::injected() const noexcept {
  return impl_->injector_ ? impl_->injector_->counts() : FaultCounts{};
}
const FateLog* RoceSender::fates() const noexcept { return impl_->injector_ ? &impl_->injector_->log() : nullptr; }

}  // namespace rashpa::link::roce
