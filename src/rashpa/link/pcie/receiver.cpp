#include "rashpa/link/pcie/receiver.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/pcie/receiver_thread.hpp"

namespace rashpa::link::pcie {

namespace {

std::uint32_t checked(std::size_t dtps) {
  if (dtps <= kMostDtps) return static_cast<std::uint32_t>(dtps);
  throw ConfigError(fmt::format("pcie: a receiver has 1 … {} DTPs, not {}", kMostDtps, dtps));
}

}  // namespace

struct PcieReceiver::Impl {
  Impl(const ReceiverConfig& config, std::uint64_t region_bytes, std::size_t dtps)
      : control(region_bytes, config.region_file, checked(dtps), config.threads) {}

  ControlBlock control;
  std::vector<std::unique_ptr<DtpPort>> ports;
  std::vector<std::unique_ptr<ReceiverThread>> threads;
};

PcieReceiver::PcieReceiver(const ReceiverConfig& config, std::span<std::byte> region,
                           const std::vector<DestinationDtp>& dtps, ArrivalQueues& queues, Doorbell& bell)
    : ThreadedReceiver("pcie", dtps.size(), config.threads, queues.size()),
      impl_(std::make_unique<Impl>(config, region.size(), dtps.size())) {
  const NotFree not_free = config.flow == roce::Flow::credits ? NotFree::late : NotFree::overrun;
  auto& ports = impl_->ports;
  for (std::uint32_t d = 0; d < dtps.size(); ++d) {
    ports.push_back(
        std::make_unique<DtpPort>(dtps[d], d, region, not_free, config.verify, counters(d % config.threads)));
    add_dtp(*ports.back());
  }
  for (std::uint32_t t = 0; t < config.threads; ++t) {
    std::vector<PolledDtp> own;
    for (std::size_t d = t; d < ports.size(); d += config.threads) {
      own.push_back({.port = ports[d].get(), .lane = &impl_->control.lane(d)});
    }
    impl_->threads.push_back(std::make_unique<ReceiverThread>(config, t, region, std::move(own),
                                                              impl_->control.thread(t), queues, bell, counters(t)));
    add_thread(*impl_->threads.back());
  }
}

PcieReceiver::~PcieReceiver() { stop(); }

std::vector<roce::Endpoint> PcieReceiver::endpoints() const {
  std::vector<roce::Endpoint> endpoints;
  for (std::uint32_t d = 0; d < impl_->ports.size(); ++d) endpoints.push_back(impl_->control.endpoint(d));
  return endpoints;
}

bool PcieReceiver::overwritten(std::uint32_t dtp, std::uint64_t index) const noexcept {
  const DtpPort& port = *impl_->ports[dtp];
  if (port.overwritten(index)) return true;
  // Images begun: the one that comes to the same slot is among them.
  const std::uint64_t begun = impl_->control.lane(dtp).begun.load(std::memory_order_acquire);
  return !port.credits && begun > index + port.assembly.dtp().placement.slots;
}

void PcieReceiver::connect(std::span<const roce::Endpoint> sources) {
  check_sources(sources.size());
  for (std::uint32_t d = 0; d < sources.size(); ++d) {
    const roce::Endpoint own = impl_->control.endpoint(d);
    if (sources[d].address != own.address || sources[d].qpn != own.qpn || sources[d].rkey != own.rkey) {
      throw ConfigError(fmt::format("pcie: source {} writes to DTP {} of {}, not to DTP {} of this receiver, {}", d,
                                    sources[d].qpn, sources[d].address, d, own.address));
    }
  }
}

}  // namespace rashpa::link::pcie
