#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/credits/credit_listener.hpp"
#include "rashpa/link/roce/sender_impl.hpp"

namespace rashpa::link::roce {

namespace {

constexpr std::uint32_t kLongestMessage = 256;  // packets
// RC: at least so often an acknowledgement is asked for, in packets, and so many times in a window.
constexpr std::uint32_t kAskEvery = 32;
constexpr std::uint32_t kAsksPerWindow = 4;

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

}  // namespace

RoceSender::Impl::Impl(const SenderConfig& config)
    : config_(prepared(config)),
      qpn_(wire::kFirstQpn + random_below(1U << 20)),
      socket_(config, qpn_),
      self_{socket_.local().text(), config.credits ? config.credits->port() : socket_.local().port(), qpn_,
            std::random_device{}(), 0},
      batch_(socket_.fd(), socket_.destination(),
             wire::IcrcPath(socket_.local(), socket_.destination(), config.options.framing), config.destination.qpn,
             config.options.gso && socket_.can_gso(), socket_.front()),
      return_(socket_, self_, config.destination, config.options, config.credits),
      window_(rc() ? 0 : config_.options.window_bytes, config.window_timeout_us, now_ns()),
      cut_(packet_payload(config.options)),
      largest_message_(cut_),
      psn_(config.first_psn.value_or(rc() ? 0 : random_below(1U << 24)) & wire::kPsnMask) {
  const Options& options = config_.options;
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
    injector_.emplace(*config.faults, config.dtp, config.images, config.payload_bytes, options, batch_);
  }
}

}  // namespace rashpa::link::roce
