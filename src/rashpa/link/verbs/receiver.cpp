#include "rashpa/link/verbs/receiver.hpp"

#include <fmt/format.h>

#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/link/verbs/receiver_thread.hpp"

namespace rashpa::link::verbs {

namespace {

void check(const ReceiverConfig& config, std::size_t dtps, std::size_t rings) {
  if (config.transport == roce::Transport::ud) {
    throw ConfigError("verbs: transport ud has no RDMA WRITE; use uc or rc");
  }
  if (dtps == 0) throw ConfigError("verbs: a receiver needs at least one DTP");
  if (config.threads == 0 || config.threads > dtps) {
    throw ConfigError(fmt::format("verbs: {} threads for {} DTPs; use 1 … {}", config.threads, dtps, dtps));
  }
  if (rings != config.threads) {
    throw ConfigError(fmt::format("verbs: {} arrival rings for {} threads; each needs its own", rings, config.threads));
  }
}

std::unique_ptr<Registration> registered(const std::shared_ptr<Device>& device, std::span<std::byte> region) {
  const memory::DmaBlock block{.data = region.data(), .bytes = region.size()};
  return device->register_first({&block, 1}, memory::DmaAccess::write);
}

}  // namespace

class VerbsReceiver::Impl {
 public:
  Impl(const ReceiverConfig& config, std::span<std::byte> region, const std::vector<DestinationDtp>& dtps,
       const std::vector<ArrivalRing*>& rings, Doorbell& bell);
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ReceiverThread& thread_of(std::size_t dtp) noexcept { return *threads_[dtp % threads_.size()]; }
  [[nodiscard]] std::size_t position_of(std::size_t dtp) const noexcept { return dtp / threads_.size(); }
  void start();
  void stop() noexcept;

  ReceiverConfig config_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Registration> region_;
  std::vector<std::unique_ptr<ReceiverCounters>> counters_;  // one per thread
  std::vector<std::unique_ptr<DtpPort>> ports_;
  std::vector<std::unique_ptr<ReceiverThread>> threads_;  // queue pairs: they go before the registration
  std::atomic<bool> stop_{false};
  std::vector<std::jthread> running_;
};

VerbsReceiver::Impl::Impl(const ReceiverConfig& config, std::span<std::byte> region,
                          const std::vector<DestinationDtp>& dtps, const std::vector<ArrivalRing*>& rings,
                          Doorbell& bell)
    : config_((check(config, dtps.size(), rings.size()), config)),
      device_(Device::open(config.options.device, config.address)),
      region_(registered(device_, region)) {
  const NotFree not_free = config.flow == roce::Flow::credits ? NotFree::late : NotFree::overrun;
  for (std::uint32_t t = 0; t < config.threads; ++t) counters_.push_back(std::make_unique<ReceiverCounters>());
  for (std::uint32_t d = 0; d < dtps.size(); ++d) {
    ports_.push_back(
        std::make_unique<DtpPort>(dtps[d], d, region, not_free, config.options.verify, *counters_[d % config.threads]));
  }
  for (std::uint32_t t = 0; t < config.threads; ++t) {
    std::vector<DtpPort*> own;
    for (std::size_t d = t; d < ports_.size(); d += config.threads) own.push_back(ports_[d].get());
    threads_.push_back(
        std::make_unique<ReceiverThread>(config, t, device_, region, own, *rings[t], bell, *counters_[t]));
  }
}

void VerbsReceiver::Impl::start() {
  if (!running_.empty()) throw StateError("verbs: the receiver is already started");
  stop_ = false;
  for (auto& thread : threads_) {
    running_.emplace_back([this, &thread] { thread->run(stop_); });
  }
}

void VerbsReceiver::Impl::stop() noexcept {
  stop_ = true;
  for (auto& thread : threads_) thread->wake();
  running_.clear();  // joins: a thread that sleeps wakes within a millisecond
}

VerbsReceiver::VerbsReceiver(const ReceiverConfig& config, std::span<std::byte> region,
                             const std::vector<DestinationDtp>& dtps, const std::vector<ArrivalRing*>& rings,
                             Doorbell& bell)
    : impl_(std::make_unique<Impl>(config, region, dtps, rings, bell)) {}
VerbsReceiver::~VerbsReceiver() = default;

std::vector<roce::Endpoint> VerbsReceiver::endpoints() const {
  constexpr std::uint16_t kRocePort = 4791;
  std::vector<roce::Endpoint> endpoints;
  for (std::size_t d = 0; d < impl_->ports_.size(); ++d) {
    endpoints.push_back({impl_->device_->address(), kRocePort, impl_->thread_of(d).number_of(impl_->position_of(d)),
                         impl_->region_->rkey(), 0});
  }
  return endpoints;
}

std::uint64_t VerbsReceiver::base() const noexcept { return impl_->region_->device_address(); }
const std::string& VerbsReceiver::registration() const noexcept { return impl_->region_->how(); }

void VerbsReceiver::connect(std::span<const roce::Endpoint> sources) {
  if (!impl_->running_.empty()) throw StateError("verbs: connect() comes before start()");
  if (sources.size() != impl_->ports_.size()) {
    throw ConfigError(fmt::format("verbs: {} sources for {} DTPs", sources.size(), impl_->ports_.size()));
  }
  for (std::size_t d = 0; d < sources.size(); ++d) impl_->thread_of(d).connect(impl_->position_of(d), sources[d]);
}

void VerbsReceiver::start() { impl_->start(); }
void VerbsReceiver::stop() noexcept { impl_->stop(); }

void VerbsReceiver::release(std::uint32_t dtp, std::uint64_t end) noexcept {
  impl_->ports_[dtp]->release(end);
  impl_->thread_of(dtp).wake();
}

void VerbsReceiver::close(std::uint32_t dtp, std::uint64_t end) noexcept {
  impl_->ports_[dtp]->close(end);
  impl_->thread_of(dtp).wake();
}

ReceiverStats VerbsReceiver::stats() const noexcept {
  ReceiverStats sum;
  for (const auto& counters : impl_->counters_) counters->add_to(sum);
  return sum;
}

}  // namespace rashpa::link::verbs
