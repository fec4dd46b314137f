// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/credits/return_path.hpp"

#include <sys/socket.h>

#include <array>

#include "rashpa/link/roce/credits/credit_listener.hpp"

namespace rashpa::link::roce {

ReturnPath::ReturnPath(const SourceSocket& socket, const Endpoint& self, const Endpoint& receiver,
                       const Options& options, std::shared_ptr<CreditListener> listener)
    : socket_(&socket),
      named_(options.framing == Framing::v2),
      reader_(self, socket.destination(), socket.local(), CreditReader::Port::same, options.framing, options.transport),
      listener_(std::move(listener)) {
  reader_.connect(receiver.qpn, receiver.psn);
  if (options.transport == Transport::rc) {
    answers_.emplace(socket.local(), socket.destination(), receiver.qpn, options.framing);
  }
  if (listener_) place_ = &listener_->add(self, receiver, options.transport);
}

std::uint64_t ReturnPath::cnps() const noexcept { return place_ != nullptr ? place_->cnps() : reader_.cnps(); }

std::uint64_t ReturnPath::refused() const noexcept { return place_ != nullptr ? place_->refused() : reader_.refused(); }

CreditWords ReturnPath::words() const noexcept { return place_ != nullptr ? place_->words() : reader_.words(); }

int ReturnPath::fd() const noexcept { return listener_ ? listener_->fd() : socket_->fd(); }

void ReturnPath::take(RcRequester* requester, std::int64_t now) noexcept {
  if (!listener_) return take_own(requester, now);
  listener_->take();
  Acknowledgement acknowledgement;
  while (requester != nullptr && place_->take_acknowledgement(acknowledgement)) {
    requester->take(acknowledgement, now);
  }
}

void ReturnPath::take_own(RcRequester* requester, std::int64_t now) noexcept {
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
    count = recvmmsg(socket_->fd(), messages.data(), kPackets, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      std::span<std::byte> packet = std::span(bytes[at]).first(messages[at].msg_len);
      wire::Address sender(from[at]);
      if (!socket_->unwrap(packet, sender)) continue;
      const auto taken = reader_.take(packet, sender);
      if (taken == CreditReader::Taken::acknowledgement && requester != nullptr) {
        requester->take(reader_.acknowledgement(), now);
      }
    }
  } while (count == static_cast<int>(kPackets));
  if (!answers_) return;
  if (const auto answer = reader_.take_answer()) {
    const auto packet = answers_->packet(*answer);
    sendto(socket_->fd(), packet.data(), packet.size(), MSG_DONTWAIT, named_ ? answers_->to().get() : nullptr,
           named_ ? answers_->to().bytes() : 0);
  }
}

}  // namespace rashpa::link::roce
