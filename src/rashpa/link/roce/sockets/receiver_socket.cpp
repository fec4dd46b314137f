// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sockets/receiver_socket.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/sockets/route.hpp"

namespace rashpa::link::roce {

namespace {

void check_mtu(const Interface& interface, const Options& options) {
  const std::uint32_t needed = v1_mtu(options.pmtu);
  if (needed <= interface.mtu) return;
  throw ConfigError(fmt::format("roce: pmtu {} needs an MTU of {} with framing v1, but {} has {}; use a smaller pmtu",
                                options.pmtu, needed, interface.name, interface.mtu));
}

}  // namespace

ReceiverSocket::ReceiverSocket(const ReceiverConfig& config, std::uint32_t number, const QpnShare& share,
                               PacketCounters& counters, memory::Gather* gather)
    : framing_(config.options.framing) {
  const Options& options = config.options;
  if (framing_ == Framing::v1) {
    const Interface interface = interface_of(config.bind_address);
    check_mtu(interface, options);
    local_ = wire::gid_address(config.bind_address);
    frames_.emplace(PacketSocket::roce1(interface, local_.ip(), share));
  } else {
    const auto port = static_cast<std::uint16_t>(config.port == 0 ? 0 : config.port + number);
    const wire::Address address(config.bind_address, port);
    udp_.emplace(address.v6());
    udp_->set_buffers(options.socket_buffer);
    udp_->bind(address);
    local_ = udp_->local();
    if (options.icrc == IcrcMode::full && !local_.v6()) {
      udp_->refuse_everything();
      frames_.emplace(PacketSocket::udp4(local_));
    }
  }
  if (frames_) {
    set_socket_buffers(frames_->fd(), options.socket_buffer);
    intake_ = std::make_unique<FrameIntake>(*frames_, options, counters);
  } else {
    intake_ = std::make_unique<UdpIntake>(*udp_, options, gather);
  }
}

wire::Address ReceiverSocket::address_of(const Endpoint& source) const {
  if (framing_ == Framing::v1) return wire::gid_address(source.address);
  const wire::Address address(source.address, source.port);
  if (address.v6() != local_.v6()) {
    throw ConfigError(
        fmt::format("roce: source {} and receiver {} differ in their IP version; give both as IPv4, or both as IPv6",
                    source.address, local_.text()));
  }
  return address;
}

bool ReceiverSocket::answer(std::span<const std::byte> packet, const wire::Address& to) noexcept {
  const sockaddr* const name = udp_ ? to.get() : nullptr;
  return sendto(answer_fd(), packet.data(), packet.size(), MSG_DONTWAIT, name, name_bytes(to)) >= 0;
}

wire::Address ReceiverSocket::answer_from(const wire::Address& source) const {
  wire::Address from = framing_ == Framing::v2 && local_.wildcard() ? local_towards(source) : local_;
  from.set_port(local_.port());
  return from;
}

}  // namespace rashpa::link::roce
