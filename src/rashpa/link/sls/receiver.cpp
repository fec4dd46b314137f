// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/receiver.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/sls/receiver_thread.hpp"
#include "rashpa/link/sls/xdp/engine.hpp"

namespace rashpa::link::sls {

namespace {

// DTPs of a port.
std::uint32_t tiles_of_a_port(const Options& options, const std::vector<ReceiverDtp>& dtps) {
  check(options);
  if (dtps.empty()) return 1;  // refused by ThreadedReceiver
  const Placement& first = dtps.front().placement;
  for (const ReceiverDtp& dtp : dtps) {
    if (dtp.placement.line_bytes == first.line_bytes && dtp.placement.lines == first.lines) continue;
    throw ConfigError(
        fmt::format("sls: DTP {} has {} lines of {} bytes, others {} of {}; the ports of a detector are "
                    "of one size, and one buffer takes all of it",
                    dtp.id, dtp.placement.lines, dtp.placement.line_bytes, first.lines, first.line_bytes));
  }
  const std::uint32_t tiles = tiles_of(shape_of(options, 0), first.line_bytes, first.lines).count();
  if (dtps.size() % tiles != 0) {
    throw ConfigError(fmt::format(
        "sls: {} DTPs are no whole number of ports of {} each; configure all parts of each port", dtps.size(), tiles));
  }
  return tiles;
}

}  // namespace

struct SlsReceiver::Impl {
  Impl(const Options& options, std::size_t count) : counts(options.first_frame, count) {}
  void use_xdp(const ReceiverConfig& config, memory::Gathering* gathers);

  FrameCounts counts;
  std::uint32_t tiles = 1;
  std::vector<std::unique_ptr<PortCounters>> counters;
  std::unique_ptr<xdp::Engine> xdp;  // null: the ports' sockets take their datagrams
  std::vector<std::unique_ptr<Port>> ports;
  std::vector<std::unique_ptr<ReceiverThread>> threads;
};

void SlsReceiver::Impl::use_xdp(const ReceiverConfig& config, memory::Gathering* gathers) {
  std::vector<xdp::Engine::PortEnd> ends;
  for (const auto& port : ports) {
    ends.push_back({.socket = &port->socket,
                    .stride = kHeaderBytes + port->handler.shape().payload,
                    .counters = counters[port->place % config.threads].get(),
                    .gather = port->gather.get()});
  }
  xdp = std::make_unique<xdp::Engine>(config.options, ends, gathers);
  auto intakes = xdp->intakes();
  for (std::size_t p = 0; p < ports.size(); ++p) ports[p]->engine = std::move(intakes[p]);
}

SlsReceiver::SlsReceiver(const ReceiverConfig& config, const ReceiverMemory& memory,
                         const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell)
    : SlsReceiver(config, memory, dtps, queues, bell, tiles_of_a_port(config.options, dtps)) {}

SlsReceiver::SlsReceiver(const ReceiverConfig& config, const ReceiverMemory& memory,
                         const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell,
                         std::uint32_t tiles)
    : ThreadedReceiver("sls", dtps.size(), config.threads, queues.size(), tiles),
      impl_(std::make_unique<Impl>(config.options, dtps.size() / tiles)) {
  check_gathered("sls", memory);
  const std::size_t ports = dtps.size() / tiles;
  if (config.threads > ports) {
    throw ConfigError(fmt::format("sls: {} threads for {} ports; use 1 … {}", config.threads, ports, ports));
  }
  if (config.port != 0 && config.port + ports > 65536) {
    throw ConfigError(
        fmt::format("sls: {} ports from {} go beyond port 65535; choose a lower port, or 0", ports, config.port));
  }
  impl_->tiles = tiles;
  for (std::uint32_t t = 0; t < config.threads; ++t) impl_->counters.push_back(std::make_unique<PortCounters>());
  for (std::uint32_t p = 0; p < ports; ++p) {
    const auto number = static_cast<std::uint16_t>(config.port == 0 ? 0 : config.port + p);
    const std::uint32_t payload = shape_of(config.options, p).payload;
    std::unique_ptr<memory::Gather> gather = gather_into(memory, config.gather);
    memory::Gather* const by = gather.get();
    impl_->ports.push_back(std::unique_ptr<Port>(
        new Port{.place = p,
                 .gather = std::move(gather),
                 .socket = {config.bind_address, number, payload, config.options, by},
                 .handler = {config.options, p, std::span(dtps).subspan(std::size_t{p} * tiles, tiles), p * tiles,
                             memory, impl_->counts, *impl_->counters[p % config.threads], by}}));
    for (auto& tile : impl_->ports.back()->handler.tiles()) add_dtp(*tile);
  }
  if (config.options.engine == EngineKind::xdp)
    impl_->use_xdp(config, memory.lines.accelerator ? memory.gathers : nullptr);
  for (std::uint32_t t = 0; t < config.threads; ++t) {
    std::vector<Port*> own;
    for (std::size_t p = t; p < ports; p += config.threads) own.push_back(impl_->ports[p].get());
    impl_->threads.push_back(std::make_unique<ReceiverThread>(config, t, std::move(own), tiles, impl_->counts, queues,
                                                              bell, *impl_->counters[t]));
    add_thread(*impl_->threads.back(), *impl_->counters[t]);
  }
}

SlsReceiver::~SlsReceiver() { stop(); }

std::vector<Endpoint> SlsReceiver::endpoints() const {
  std::vector<Endpoint> endpoints;
  for (const auto& port : impl_->ports) {
    const wire::Address& at = port->socket.local();
    for (std::uint32_t tile = 0; tile < impl_->tiles; ++tile) {
      endpoints.push_back(
          {.address = at.text(), .port = at.port(), .qpn = static_cast<std::uint32_t>(port->place), .rkey = tile});
    }
  }
  return endpoints;
}

}  // namespace rashpa::link::sls
