#include "rashpa/link/pcie/receiver.hpp"

#include <fmt/format.h>

#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/link/pcie/receiver_thread.hpp"

namespace rashpa::link::pcie {

namespace {

void check(const ReceiverConfig& config, std::size_t dtps, std::size_t rings) {
  if (dtps == 0 || dtps > kMostDtps) {
    throw ConfigError(fmt::format("pcie: a receiver has 1 … {} DTPs, not {}", kMostDtps, dtps));
  }
  if (config.threads == 0 || config.threads > dtps) {
    throw ConfigError(fmt::format("pcie: {} threads for {} DTPs; use 1 … {}", config.threads, dtps, dtps));
  }
  if (rings != config.threads) {
    throw ConfigError(fmt::format("pcie: {} arrival rings for {} threads; each needs its own", rings, config.threads));
  }
}

}  // namespace

class PcieReceiver::Impl {
 public:
  Impl(const ReceiverConfig& config, std::span<std::byte> region, const std::vector<DestinationDtp>& dtps,
       const std::vector<ArrivalRing*>& rings, Doorbell& bell);
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ReceiverThread& thread_of(std::size_t dtp) noexcept { return *threads_[dtp % threads_.size()]; }
  void start();
  void stop() noexcept;

  ControlBlock control_;
  std::vector<std::unique_ptr<ReceiverCounters>> counters_;  // one per thread
  std::vector<std::unique_ptr<DtpPort>> ports_;
  std::vector<std::unique_ptr<ReceiverThread>> threads_;
  std::atomic<bool> stop_{false};
  std::vector<std::jthread> running_;
};

PcieReceiver::Impl::Impl(const ReceiverConfig& config, std::span<std::byte> region,
                         const std::vector<DestinationDtp>& dtps, const std::vector<ArrivalRing*>& rings,
                         Doorbell& bell)
    : control_((check(config, dtps.size(), rings.size()), region.size()), config.region_file,
               static_cast<std::uint32_t>(dtps.size()), config.threads) {
  const NotFree not_free = config.flow == roce::Flow::credits ? NotFree::late : NotFree::overrun;
  for (std::uint32_t t = 0; t < config.threads; ++t) counters_.push_back(std::make_unique<ReceiverCounters>());
  for (std::uint32_t d = 0; d < dtps.size(); ++d) {
    ports_.push_back(
        std::make_unique<DtpPort>(dtps[d], d, region, not_free, config.verify, *counters_[d % config.threads]));
  }
  for (std::uint32_t t = 0; t < config.threads; ++t) {
    std::vector<PolledDtp> own;
    for (std::size_t d = t; d < ports_.size(); d += config.threads) {
      own.push_back({.port = ports_[d].get(), .lane = &control_.lane(d)});
    }
    threads_.push_back(std::make_unique<ReceiverThread>(config, t, region, std::move(own), control_.thread(t),
                                                        *rings[t], bell, *counters_[t]));
  }
}

void PcieReceiver::Impl::start() {
  if (!running_.empty()) throw StateError("pcie: the receiver is already started");
  stop_ = false;
  for (auto& thread : threads_) {
    running_.emplace_back([this, &thread] { thread->run(stop_); });
  }
}

void PcieReceiver::Impl::stop() noexcept {
  stop_ = true;
  for (auto& thread : threads_) thread->wake();
  running_.clear();  // joins: a thread that sleeps wakes within a few milliseconds, whatever its flag holds
}

PcieReceiver::PcieReceiver(const ReceiverConfig& config, std::span<std::byte> region,
                           const std::vector<DestinationDtp>& dtps, const std::vector<ArrivalRing*>& rings,
                           Doorbell& bell)
    : impl_(std::make_unique<Impl>(config, region, dtps, rings, bell)) {}
PcieReceiver::~PcieReceiver() = default;

std::vector<roce::Endpoint> PcieReceiver::endpoints() const {
  std::vector<roce::Endpoint> endpoints;
  for (std::uint32_t d = 0; d < impl_->ports_.size(); ++d) endpoints.push_back(impl_->control_.endpoint(d));
  return endpoints;
}

void PcieReceiver::connect(std::span<const roce::Endpoint> sources) const {
  if (!impl_->running_.empty()) throw StateError("pcie: connect() comes before start()");
  if (sources.size() != impl_->ports_.size()) {
    throw ConfigError(fmt::format("pcie: {} sources for {} DTPs", sources.size(), impl_->ports_.size()));
  }
  for (std::uint32_t d = 0; d < sources.size(); ++d) {
    const roce::Endpoint own = impl_->control_.endpoint(d);
    if (sources[d].address != own.address || sources[d].qpn != own.qpn || sources[d].rkey != own.rkey) {
      throw ConfigError(fmt::format("pcie: source {} writes to DTP {} of {}, not to DTP {} of this receiver, {}", d,
                                    sources[d].qpn, sources[d].address, d, own.address));
    }
  }
}

void PcieReceiver::start() { impl_->start(); }
void PcieReceiver::stop() noexcept { impl_->stop(); }

void PcieReceiver::release(std::uint32_t dtp, std::uint64_t end) noexcept {
  impl_->ports_[dtp]->release(end);
  impl_->thread_of(dtp).wake();
}

void PcieReceiver::close(std::uint32_t dtp, std::uint64_t end) noexcept {
  impl_->ports_[dtp]->close(end);
  impl_->thread_of(dtp).wake();
}

ReceiverStats PcieReceiver::stats() const noexcept {
  ReceiverStats sum;
  for (const auto& counters : impl_->counters_) counters->add_to(sum);
  return sum;
}

}  // namespace rashpa::link::pcie
