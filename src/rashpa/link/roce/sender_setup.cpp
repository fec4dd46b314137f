#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/credit_listener.hpp"
#include "rashpa/link/roce/sender_impl.hpp"

namespace rashpa::link::roce {

namespace {

constexpr std::uint32_t kLongestMessage = 256;  // packets
// RC: at least so often an acknowledgement is asked for, in packets, and so many times in a window.
constexpr std::uint32_t kAskEvery = 32;
constexpr std::uint32_t kAsksPerWindow = 4;

Address source_address(const SenderConfig& config, const Address& destination) {
  Address address(config.bind_address, 0);
  if (address.v6() != destination.v6()) {
    throw ConfigError(fmt::format("roce: bind_address {} and destination {} are not of one IP version",
                                  config.bind_address, config.destination.address));
  }
  return address.wildcard() ? local_towards(destination) : address;
}

UdpSocket bound_socket(const Address& address, const Options& options) {
  UdpSocket socket(address.v6());
  socket.set_buffers(options.socket_buffer);
  socket.bind(address);
  return socket;
}

std::uint32_t random_below(std::uint32_t end) { return std::random_device{}() % end; }

// What is asked for, checked and with the window that the destination has room for.
SenderConfig prepared(SenderConfig config) {
  check(config.options);
  std::uint64_t& window = config.options.window_bytes;
  const bool used = config.flow == Flow::credits || config.options.transport == Transport::rc;
  if (!used) window = 0;
  if (window != 0 && config.destination.window_bytes != 0) {
    // The destination knows what its socket has room for; at least two packets, or nothing would overlap.
    window = std::min(window, std::max<std::uint64_t>(config.destination.window_bytes, 2ULL * config.options.pmtu));
  }
  if (window != 0 && window < config.options.pmtu) {
    throw ConfigError(
        fmt::format("roce: a window of {} bytes is less than one packet of {}", window, config.options.pmtu));
  }
  return config;
}

void check_mtu(const Options& options, const Address& destination) {
  const std::uint32_t headers = (destination.v6() ? 40U : 20U) + 8U + 12U + 16U + 4U + 4U;
  const std::uint32_t mtu = path_mtu(destination);
  if (options.pmtu + headers <= mtu) return;
  throw ConfigError(fmt::format("roce: pmtu {} needs an MTU of {}, but the way to {} has {}; use a smaller pmtu",
                                options.pmtu, options.pmtu + headers, destination.text(), mtu));
}

}  // namespace

RoceSender::Impl::Impl(const SenderConfig& config)
    : config_(prepared(config)),
      destination_(config.destination.address, config.destination.port),
      socket_(bound_socket(source_address(config, destination_), config.options)),
      local_(socket_.local()),
      self_{local_.text(), config.credits ? config.credits->port() : local_.port(),
            wire::kFirstQpn + random_below(1U << 20), std::random_device{}(), 0},
      batch_(socket_, destination_, IcrcPath(local_, destination_), config.destination.qpn,
             config.options.gso && socket_.can_gso()),
      return_(socket_, self_, config.destination, local_, config.options.transport, config.credits),
      window_(rc() ? 0 : config_.options.window_bytes, config.window_timeout_us, now_ns()),
      cut_(packet_payload(config.options)),
      largest_message_(cut_),
      psn_(config.first_psn.value_or(rc() ? 0 : random_below(1U << 24)) & wire::kPsnMask) {
  const Options& options = config_.options;
  check_mtu(options, destination_);
  if (options.packetisation == Packetisation::first_middle_last) {
    const std::uint64_t fits = windowed() ? options.window_bytes / 4 / options.pmtu : kLongestMessage;
    largest_message_ = options.pmtu * static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fits, 1, kLongestMessage));
  }
  if (rc()) {
    rc_.emplace(psn_, config.timers);
    ask_every_ = kAskEvery;
    if (windowed()) {
      const std::uint64_t part = options.window_bytes / options.pmtu / kAsksPerWindow;
      ask_every_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(part, 1, kAskEvery));
    }
  }
  if (config.faults) {
    injector_.emplace(*config.faults, config.dtp, config.images, config.payload_bytes, options.pmtu, options.transport,
                      batch_);
  }
}

}  // namespace rashpa::link::roce
