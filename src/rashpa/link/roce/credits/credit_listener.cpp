// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/credits/credit_listener.hpp"

#include <sys/socket.h>

#include <array>

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

std::size_t CreditListener::add(const Endpoint& self, const Endpoint& receiver, Transport transport) {
  sources_.push_back(std::make_unique<Source>(self, receiver, local_, transport));
  return sources_.size() - 1;
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
      if (source->qpn == qpn) give(*source, bytes, wire::Address(from));
    }
  }
}

void CreditListener::give(Source& source, std::span<std::byte> packet, const wire::Address& from) noexcept {
  const CreditReader::Taken taken = source.reader.take(packet, from);
  if (taken == CreditReader::Taken::acknowledgement) {
    source.acknowledgements.try_push(source.reader.acknowledgement());
  } else if (taken == CreditReader::Taken::credit) {
    source.images.store(source.reader.words().images, std::memory_order_release);
    source.bytes.store(source.reader.words().bytes, std::memory_order_release);
  }
  if (const auto answer = source.reader.take_answer()) {
    const auto reply = source.answers.packet(*answer);
    const wire::Address& to = source.answers.to();
    sendto(socket_.fd(), reply.data(), reply.size(), MSG_DONTWAIT, to.get(), to.bytes());
  }
}

bool CreditListener::take_acknowledgement(std::size_t number, Acknowledgement& out) noexcept {
  return sources_[number]->acknowledgements.try_pop(out);
}

CreditWords CreditListener::words(std::size_t number) const noexcept {
  const Source& source = *sources_[number];
  return {source.images.load(std::memory_order_acquire), source.bytes.load(std::memory_order_acquire)};
}

}  // namespace rashpa::link::roce
