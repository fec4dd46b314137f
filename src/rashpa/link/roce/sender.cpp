// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sender.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/credits/credit_listener.hpp"
#include "rashpa/link/roce/faults/fault_injector.hpp"
#include "rashpa/link/roce/outlet.hpp"
#include "rashpa/link/roce/transport_sender.hpp"
#include "rashpa/link/roce/transports/rc_requester.hpp"
#include "rashpa/link/roce/transports/uc_requester.hpp"
#include "rashpa/link/roce/transports/ud_requester.hpp"
#include "rashpa/wire/random_numbers.hpp"

namespace rashpa::link::roce {

namespace {

constexpr std::uint32_t kLongestMessage = 256;  // packets

MemoryKeys keys_of(const SenderConfig& config) noexcept {
  return {config.destination.rkey, config.destination.key_of_records()};
}

// The requested options, checked, with the window for which the destination has room.
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
    throw ConfigError(fmt::format("roce: a window of {} bytes is less than one packet of {}; set a larger window_bytes",
                                  window, config.options.pmtu));
  }
  return config;
}

std::uint32_t largest_message_of(const Options& options, std::uint32_t cut) noexcept {
  if (options.packetisation != Packetisation::first_middle_last) return cut;
  const std::uint64_t fits = options.window_bytes != 0 ? options.window_bytes / 4 / options.pmtu : kLongestMessage;
  return options.pmtu * static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fits, 1, kLongestMessage));
}

template <typename Requester, typename MakeRequester>
std::unique_ptr<RoceSender> make(const SenderConfig& config, const MakeRequester& make_requester) {
  if (config.faults) {
    return std::make_unique<TransportSender<Requester, FaultInjector>>(
        config, make_requester, [](const SenderStart& start, PacketBatch& batch) {
          const SenderConfig& asked = start.config;
          return FaultInjector(*asked.faults, asked.dtp, asked.images, asked.payload_bytes, asked.options, batch);
        });
  }
  return std::make_unique<TransportSender<Requester, PlainOutlet>>(
      config, make_requester, [](const SenderStart& /*start*/, PacketBatch& batch) { return PlainOutlet(batch); });
}

}  // namespace

SenderStart::SenderStart(const SenderConfig& wanted)
    : config(prepared(wanted)),
      qpn(wire::random_qpn()),
      socket(config, qpn),
      self{socket.local().text(),
           config.credits ? config.credits->port() : socket.local().port(),
           qpn,
           wire::random_key(),
           0,
           0,
           config.first_psn.value_or(wire::random_psn()) & wire::kPsnMask},
      cut(packet_payload(config.options)),
      largest_message(largest_message_of(config.options, cut)) {}

std::unique_ptr<RoceSender> make_sender(const SenderConfig& config) {
  switch (config.options.transport) {
    case Transport::uc:
      break;
    case Transport::rc:
      return make<RcRequester>(config, [](const SenderStart& start) {
        const Options& options = start.config.options;
        return RcRequester(start.self.psn, start.config.timers,
                           {keys_of(start.config), options.window_bytes, options.pmtu});
      });
    case Transport::ud:
      return make<UdRequester>(config, [](const SenderStart& start) {
        return UdRequester(start.config.destination.rkey, start.qpn, start.config.options.window_bytes);
      });
  }
  return make<UcRequester>(config, [](const SenderStart& start) {
    return UcRequester(keys_of(start.config), start.config.options.window_bytes);
  });
}

}  // namespace rashpa::link::roce
