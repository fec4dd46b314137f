// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/credits/credit_listener.hpp"

#include <sys/socket.h>

#include <array>
#include <utility>

namespace rashpa::link::roce {

namespace {

UdpSocket bound_socket(const std::string& address, std::uint16_t port) {
  const wire::Address local(address, port);
  UdpSocket socket(local.v6());
  socket.bind(local);
  return socket;
}

}  // namespace

CreditListener::CreditListener(const std::string& address, std::uint16_t port)
    : socket_(bound_socket(address, port)), local_(socket_.local()) {}

CreditListener::~CreditListener() = default;

CreditListener::Source& CreditListener::add(const Endpoint& self, const Endpoint& receiver, Transport transport) {
  auto source = std::make_unique<Source>(self, receiver, local_, transport);
  const std::lock_guard lock(taking_);
  return *sources_.emplace_back(std::move(source));
}

void CreditListener::take() noexcept {
  const std::unique_lock lock(taking_, std::try_to_lock);
  if (!lock) return;
  constexpr int kMost = 64;           // one source's thread does not work for the others for ever
  std::array<std::byte, 256> packet;  // NOLINT: filled by the kernel
  for (int i = 0; i < kMost; ++i) {
    sockaddr_storage from{};
    socklen_t from_bytes = sizeof from;
    const ssize_t size = recvfrom(socket_.fd(), packet.data(), packet.size(), MSG_DONTWAIT,
                                  reinterpret_cast<sockaddr*>(&from), &from_bytes);
    if (size < 0) return;
    const std::span bytes = std::span(packet).first(static_cast<std::size_t>(size));
    if (bytes.size() < wire::kBth) continue;
    const std::uint32_t qpn = wire::load_bth(bytes.data()).qpn;
    for (auto& source : sources_) {
      if (source->qpn_ == qpn) give(*source, bytes, wire::Address(from));
    }
  }
}

void CreditListener::give(Source& source, std::span<std::byte> packet, const wire::Address& from) noexcept {
  const CreditReader::Taken taken = source.reader_.take(packet, from);
  if (taken == CreditReader::Taken::acknowledgement) {
    // a source that is behind has older ones yet, and the next that comes says what this one says
    static_cast<void>(source.acknowledgements_.try_push(source.reader_.acknowledgement()));
  } else if (taken == CreditReader::Taken::credit) {
    source.images_.store(source.reader_.words().images, std::memory_order_release);
    source.bytes_.store(source.reader_.words().bytes, std::memory_order_release);
  }
  if (const auto answer = source.reader_.take_answer()) {
    const auto reply = source.answers_.packet(*answer);
    const wire::Address& to = source.answers_.to();
    sendto(socket_.fd(), reply.data(), reply.size(), MSG_DONTWAIT, to.get(), to.bytes());
  }
}

}  // namespace rashpa::link::roce
