// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/xdp/port.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rashpa::link::sls::xdp {

Port::Port(std::vector<std::unique_ptr<FrameSocket>> queues, PortSocket& socket, std::size_t stride,
           std::uint64_t queue_bytes, bool first, PortCounters& counters, const memory::Gather* gather)
    : queues_(std::move(queues)),
      seen_(queues_.size()),
      socket_(&socket),
      stride_(stride),
      buffer_(queue_bytes * queues_.size()),
      first_(first),
      counters_(&counters),
      gather_(gather),
      all_(epoll_create1(EPOLL_CLOEXEC)),
      pieces_(kBatch),
      taken_(kBatch) {
  const auto watch = [this](int file) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(all_.get(), EPOLL_CTL_ADD, file, &event) != 0) refuse("cannot watch a socket", errno);
  };
  for (const auto& queue : queues_) watch(queue->fd());
  watch(socket.fd());
}

// Counts frames that are no datagrams.
ParsedFrame Port::judge(FrameSocket::Frame frame) noexcept {
  const ParsedFrame parsed = parse_frame(ScatteredBytes(frame));
  if (parsed.verdict == Verdict::datagram) return parsed;
  counters_->packets.add(1);
  (parsed.verdict == Verdict::malformed ? counters_->malformed : counters_->bad_checksum).add(1);
  return parsed;
}

// False when the batch is full before the queue is empty.
bool Port::take_from(FrameSocket& queue, std::size_t& count) noexcept {
  while (count < kBatch) {
    const auto frame = queue.next(pieces_[count]);
    if (!frame) return true;
    queue.take();
    const ParsedFrame parsed = judge(*frame);
    if (parsed.verdict != Verdict::datagram) continue;
    // A sender's datagrams that nobody has cut yet: they come from this machine.
    taken_[count++] = {parsed.payload, parsed.payload.size() > stride_ ? stride_ : 0};
  }
  return false;
}

std::span<const Intake> Port::receive(bool& drained) noexcept {
  if (older_) {
    const auto taken = socket_->receive(drained);
    older_ = !taken.empty() || !drained;
    drained = false;
    if (older_) return taken;
  }
  std::size_t count = 0;
  drained = true;
  turn_ = (turn_ + 1) % queues_.size();  // a queue that always fills the batch leaves the next turn to the others
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    FrameSocket& queue = *queues_[(turn_ + i) % queues_.size()];
    queue.give_back(gather_);
    drained = take_from(queue, count) && drained;
  }
  if (count > 0 || !drained) return std::span(taken_).first(count);
  return socket_->receive(drained);
}

std::optional<std::span<const std::byte>> Port::peek(std::span<std::byte> room) noexcept {
  peeked_ = nullptr;
  if (const auto older = socket_->peek(room)) return older;
  for (const auto& queue : queues_) {
    while (const auto frame = queue->next(pieces_[0])) {
      const ParsedFrame parsed = judge(*frame);
      if (parsed.verdict == Verdict::datagram) {
        peeked_ = queue.get();
        const ScatteredBytes begin = parsed.payload.subrange(0, std::min(room.size(), parsed.payload.size()));
        begin.copy_to(room.data());
        return room.first(begin.size());
      }
      queue->take();
      queue->give_back(gather_);
    }
  }
  return std::nullopt;
}

void Port::discard() noexcept {
  if (peeked_ == nullptr) return socket_->discard();
  peeked_->take();
  peeked_->give_back(gather_);
}

void Port::count_drops(PortCounters& counters) noexcept {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const xdp_statistics now = queues_[i]->statistics();
    xdp_statistics& seen = seen_[i];
    const std::uint64_t dropped = now.rx_dropped - seen.rx_dropped;
    const std::uint64_t full = now.rx_ring_full - seen.rx_ring_full;
    counters.host_drops.add(dropped + full);
    counters.xdp_dropped.add(dropped);
    counters.xdp_ring_full.add(full);
    if (first_) counters.xdp_memory_empty.add(now.rx_fill_ring_empty_descs - seen.rx_fill_ring_empty_descs);
    seen = now;
  }
  socket_->count_drops(counters);
}

}  // namespace rashpa::link::sls::xdp
