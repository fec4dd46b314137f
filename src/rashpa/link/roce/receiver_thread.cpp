// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/receiver_thread.hpp"

#include <algorithm>
#include <utility>

#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/wire/random_numbers.hpp"

namespace rashpa::link::roce {

namespace {

constexpr std::int64_t kDecideNs = 1'000'000;  // release() is seen at least so often
constexpr std::int64_t kSpinNs = 30'000;       // asking so long before sleeping saves the source a wake-up per batch
constexpr std::int64_t kCreditNs = 2'000'000;  // credits are repeated so often, so that a lost one heals
constexpr std::int64_t kCreditAgainNs = 10'000'000;  // and those of reliable connections while nobody acknowledges them

// Of queue pairs base_qpn …, DTP d is served by thread d mod threads.
QpnShare share_of(const ReceiverConfig& config, std::uint32_t number, std::uint32_t base_qpn, std::size_t dtps) {
  return {base_qpn, static_cast<std::uint32_t>(dtps), config.threads, number};
}

}  // namespace

ReceiverThread::ReceiverThread(const ReceiverConfig& config, std::uint32_t number, std::uint32_t base_qpn,
                               std::vector<PacketDtp*> ports, ArrivalQueues& queues, Doorbell& bell,
                               PacketCounters& counters, memory::Gather* gather)
    : config_(config),
      number_(number),
      ports_(std::move(ports)),
      output_(queues, bell, number, config.threads),
      counters_(&counters),
      gather_(gather),
      socket_(config, number, share_of(config, number, base_qpn, ports_.size()), counters, gather),
      handler_(config.options, base_qpn, ports_, counters),
      base_qpn_(base_qpn),
      answers_(ports_.size()),
      credits_(ports_.size()),
      sleep_("roce") {
  news_bytes_ = std::min(config.options.window_bytes, window_bytes()) / 4;
  for (CreditState& credit : credits_) credit.psn = wire::random_psn();
  credit_pieces_.resize(ports_.size());
  credit_messages_.resize(ports_.size());
}

std::uint64_t ReceiverThread::window_bytes() const noexcept {
  // The kernel counts its own overhead with the payload, and a window may be sent twice when its first news is lost.
  constexpr std::uint64_t kShare = 4;
  const auto dtps = std::count_if(ports_.begin(), ports_.end(), [](const PacketDtp* port) { return port != nullptr; });
  return socket_.receive_buffer() / kShare / static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(dtps, 1));
}

void ReceiverThread::connect(std::uint32_t index, const Endpoint& source) {
  const wire::Address to = socket_.address_of(source);
  const wire::Address from = socket_.answer_from(to);
  ports_[index]->source_known = true;
  ports_[index]->source_ip = to.ip();
  if (UdResponder* ud = ports_[index]->ud()) ud->connect(source.qpn);
  if (RcResponder* rc = ports_[index]->rc()) rc->connect(source.psn);
  const Transport transport = config_.options.transport;
  const Framing framing = config_.options.framing;
  if (transport == Transport::rc) answers_.connect(index, from, to, source.qpn, framing);
  if (config_.flow == Flow::credits) {
    credits_[index].writer.emplace(from, to, source, framing, transport, base_qpn_ + index, credit_psn(index));
  }
  credits_[index].notifier.emplace(from, to, source.qpn, framing);
}

void ReceiverThread::handle(std::span<Datagram> datagrams, std::int64_t now) noexcept {
  for (Datagram& datagram : datagrams) {
    datagram.now = now;
    handler_.handle(datagram, output_);
  }
  if (gather_ != nullptr) gather_->submit();
  handler_.decide_touched(now, output_);
  if (handler_.take_congestion()) answer_congestion(now);
}

// A notification that cannot be sent now is not worth repeating: as long as the way is full, marks keep coming.
void ReceiverThread::answer_congestion(std::int64_t now) noexcept {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i] == nullptr || !std::exchange(ports_[i]->congested, false) || !credits_[i].notifier) continue;
    CongestionNotifier& notifier = *credits_[i].notifier;
    const auto packet = notifier.packet(now);
    if (packet.empty()) continue;
    if (socket_.answer(packet, notifier.to())) counters_->cnps_sent.add(1);
  }
}

// The packet for one DTP, if its words have changed enough to matter: always when the socket has run empty, else when a
// quarter of the window has come. Unchanged words are repeated from time to time, but only when the socket is empty: a
// source that hears the same again knows that none of its packets is still in flight. With RC the acknowledgements open
// the window, so that only images matter; one packet is on its way, and repeated until it is acknowledged.
std::span<const std::byte> ReceiverThread::due_credit(PacketDtp& port, CreditState& credit, bool drained,
                                                      std::int64_t now) const noexcept {
  const bool rc = config_.options.transport == Transport::rc;
  if (rc && port.credit_acknowledged) {
    credit.writer->take(*port.credit_acknowledged);
    port.credit_acknowledged.reset();
  }
  if (credit.writer->unacknowledged()) {
    if (now - credit.sent_ns <= kCreditAgainNs) return {};
    credit.sent_ns = now;
    return credit.writer->again();
  }
  const CreditWords words{port.assembly.granted(), port.received_bytes};
  const std::uint64_t news = words.bytes - credit.sent.bytes;
  const bool bytes_due = !rc && (news > news_bytes_ || (drained && (news != 0 || now - credit.sent_ns > kCreditNs)));
  if (words.images == credit.sent.images && !bytes_due) return {};
  credit.sent = words;
  credit.sent_ns = now;
  return credit.writer->packet(words);
}

void ReceiverThread::send_credits(bool drained, std::int64_t now) noexcept {
  if (config_.flow != Flow::credits) return;
  std::size_t count = 0;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    CreditState& credit = credits_[i];
    if (!credit.writer) continue;
    const auto packet = due_credit(*ports_[i], credit, drained, now);
    if (packet.empty()) continue;
    credit_pieces_[count] = {const_cast<std::byte*>(packet.data()), packet.size()};  // NOLINT: the kernel only reads
    msghdr& header = credit_messages_[count].msg_hdr;
    header = {};
    header.msg_name = const_cast<sockaddr*>(credit.writer->to().get());  // NOLINT: the kernel only reads
    header.msg_namelen = socket_.name_bytes(credit.writer->to());
    header.msg_iov = &credit_pieces_[count];
    header.msg_iovlen = 1;
    ++count;
  }
  // A credit that cannot be sent now is repeated soon.
  if (count != 0) sendmmsg(socket_.answer_fd(), credit_messages_.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
}

bool ReceiverThread::something_changed() noexcept {
  return std::any_of(ports_.begin(), ports_.end(), [this](const PacketDtp* port) {
    return port != nullptr && port->news_for(port->assembly, output_);
  });
}

void ReceiverThread::run(const std::atomic<bool>& stop) noexcept {
  place_receiver_thread("roce", number_, config_.first_processor);
  std::int64_t last_decide = 0;
  std::int64_t last_packet = 0;
  std::uint64_t bytes = 0;  // of datagrams since the socket was empty, or as much had come as it holds
  while (!stop.load(std::memory_order_relaxed)) {
    bool drained = false;
    if (gather_ != nullptr) gather_->look();
    const std::span<Datagram> datagrams = socket_.intake().receive(drained);
    const std::int64_t now = now_ns();
    if (!datagrams.empty()) {
      handle(datagrams, now);
      if (config_.options.transport == Transport::rc) answers_.send(ports_, socket_, *counters_);
      last_packet = now;
      for (const Datagram& datagram : datagrams) bytes += datagram.bytes.size();
    }
    const bool a_queue = bytes > socket_.receive_buffer();
    const bool none_left = datagrams.empty() && drained;
    if (datagrams.empty() && !drained) counters_->gather_waits.add(1);
    if (datagrams.empty() || a_queue || now - last_decide > kDecideNs) {
      const Taken taken = none_left ? Taken::all : a_queue ? Taken::a_queue : Taken::some;
      if (taken != Taken::some) bytes = 0;
      handler_.decide_all(now, output_, taken);
      last_decide = now;
    }
    send_credits(drained, now);
    output_.ring();
    if (!datagrams.empty() || !drained) continue;
    if (config_.poll == Poll::event && now - last_packet > kSpinNs) {
      sleep_.sleep_unless(socket_.intake().fd(), [&] { return something_changed() || stop.load(); });
    } else {
      pause_spinning();
    }
  }
}

}  // namespace rashpa::link::roce
