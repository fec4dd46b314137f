// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sockets/source_socket.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/sockets/route.hpp"
#include "rashpa/wire/frame_parser.hpp"

namespace rashpa::link::roce {

namespace {

wire::Address source_address(const SenderConfig& config, const wire::Address& destination) {
  wire::Address address(config.bind_address, 0);
  if (address.v6() != destination.v6()) {
    throw ConfigError(fmt::format(
        "roce: bind_address {} and destination {} differ in their IP version; give both as IPv4, or both as IPv6",
        config.bind_address, config.destination.address));
  }
  return address.wildcard() ? local_towards(destination) : address;
}

void check_mtu(const SenderConfig& config, std::uint32_t needed, std::uint32_t mtu) {
  if (needed <= mtu) return;
  throw ConfigError(fmt::format("roce: pmtu {} needs an MTU of {}, but the way to {} has {}; use a smaller pmtu",
                                config.options.pmtu, needed, config.destination.address, mtu));
}

}  // namespace

SourceSocket::SourceSocket(const SenderConfig& config, std::uint32_t qpn) : framing_(config.options.framing) {
  const Options& options = config.options;
  if (framing_ == Framing::v1) {
    const Interface interface = interface_of(config.bind_address);
    local_ = wire::gid_address(config.bind_address);
    destination_ = wire::gid_address(config.destination.address);
    check_mtu(config, v1_mtu(options.pmtu), interface.mtu);
    frames_.emplace(PacketSocket::roce1(interface, local_.ip(), {.first = qpn}));
    set_socket_buffers(frames_->fd(), options.socket_buffer);
    return;
  }
  destination_ = wire::Address(config.destination.address, config.destination.port);
  const wire::Address local = source_address(config, destination_);
  udp_.emplace(local.v6());
  udp_->set_buffers(options.socket_buffer);
  udp_->bind(local);
  udp_->send_ecn_capable();
  local_ = udp_->local();
  const std::uint32_t headers = (destination_.v6() ? 40U : 20U) + 8U + 12U + 16U + 4U + 4U;
  check_mtu(config, options.pmtu + headers, path_mtu(destination_));
}

std::optional<wire::FrameHeader> SourceSocket::front() const {
  if (framing_ == Framing::v2) return std::nullopt;
  return wire::FrameHeader(local_, destination_, wire::FrameHeader::Ecn::capable);
}

bool SourceSocket::unwrap(std::span<std::byte>& bytes, wire::Address& from) const noexcept {
  if (framing_ == Framing::v2) return true;
  wire::Frame frame;
  if (!wire::parse_roce1_frame(bytes, frame)) return false;
  bytes = frame.transport;
  from = frame.source;
  return true;
}

}  // namespace rashpa::link::roce
