#include "rashpa/link/roce/receiver.hpp"

#include <fmt/format.h>

#include <random>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/link/raise.hpp"
#include "rashpa/link/roce/receiver_thread.hpp"

namespace rashpa::link::roce {

class RoceReceiver::Impl {
 public:
  Impl(const ReceiverConfig& config, std::span<std::byte> region, std::vector<DestinationDtp> dtps,
       std::vector<ArrivalRing*> rings, Doorbell& bell);
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ReceiverThread& thread_of(std::size_t dtp) noexcept { return *threads_[dtp % threads_.size()]; }
  void connect(std::span<const Endpoint> sources);
  void start();
  void stop() noexcept;

  ReceiverConfig config_;
  std::uint32_t rkey_ = 0;
  std::uint32_t base_qpn_ = 0;
  std::vector<std::unique_ptr<ReceiverCounters>> counters_;  // one per thread
  std::vector<std::unique_ptr<DtpPort>> ports_;
  std::vector<std::unique_ptr<ReceiverThread>> threads_;
  std::atomic<bool> stop_{false};
  std::vector<std::jthread> running_;
};

RoceReceiver::Impl::Impl(const ReceiverConfig& config, std::span<std::byte> region, std::vector<DestinationDtp> dtps,
                         std::vector<ArrivalRing*> rings, Doorbell& bell)
    : config_(config) {
  check(config.options);
  if (dtps.empty()) throw ConfigError("roce: a receiver needs at least one DTP");
  if (config.threads == 0 || config.threads > dtps.size()) {
    throw ConfigError(
        fmt::format("roce: {} threads for {} DTPs; use 1 … {}", config.threads, dtps.size(), dtps.size()));
  }
  if (rings.size() != config.threads) {
    throw ConfigError(
        fmt::format("roce: {} arrival rings for {} threads; each needs its own", rings.size(), config.threads));
  }
  if (config.port != 0 && config.port + config.threads > 65536) {
    throw ConfigError(fmt::format("roce: {} threads from port {} go beyond 65535", config.threads, config.port));
  }
  std::random_device random;
  rkey_ = random();
  base_qpn_ = wire::kFirstQpn + random() % (1U << 23);
  const NotFree not_free = config.flow == Flow::credits ? NotFree::late : NotFree::overrun;
  for (std::uint32_t t = 0; t < config.threads; ++t) counters_.push_back(std::make_unique<ReceiverCounters>());
  for (std::uint32_t d = 0; d < dtps.size(); ++d) {
    ports_.push_back(std::make_unique<DtpPort>(dtps[d], d, config.options, rkey_, region, not_free,
                                               *counters_[d % config.threads], config.first_psn));
  }
  for (std::uint32_t t = 0; t < config.threads; ++t) {
    std::vector<DtpPort*> own(ports_.size(), nullptr);
    for (std::size_t d = t; d < ports_.size(); d += config.threads) own[d] = ports_[d].get();
    threads_.push_back(
        std::make_unique<ReceiverThread>(config, t, base_qpn_, std::move(own), *rings[t], bell, *counters_[t]));
  }
}

void RoceReceiver::Impl::connect(std::span<const Endpoint> sources) {
  if (!running_.empty()) throw StateError("roce: connect() comes before start()");
  if (sources.size() != ports_.size()) {
    throw ConfigError(fmt::format("roce: {} sources for {} DTPs", sources.size(), ports_.size()));
  }
  for (std::uint32_t d = 0; d < sources.size(); ++d) thread_of(d).connect(d, sources[d]);
}

void RoceReceiver::Impl::start() {
  if (!running_.empty()) throw StateError("roce: the receiver is already started");
  stop_ = false;
  for (auto& thread : threads_) {
    running_.emplace_back([this, &thread] { thread->run(stop_); });
  }
}

void RoceReceiver::Impl::stop() noexcept {
  stop_ = true;
  for (auto& thread : threads_) thread->wake();
  running_.clear();  // joins: a thread that sleeps wakes within a millisecond
}

RoceReceiver::RoceReceiver(const ReceiverConfig& config, std::span<std::byte> region, std::vector<DestinationDtp> dtps,
                           std::vector<ArrivalRing*> rings, Doorbell& bell)
    : impl_(std::make_unique<Impl>(config, region, std::move(dtps), std::move(rings), bell)) {}
RoceReceiver::~RoceReceiver() = default;

std::vector<Endpoint> RoceReceiver::endpoints() const {
  std::vector<Endpoint> endpoints;
  for (std::uint32_t d = 0; d < impl_->ports_.size(); ++d) {
    const Address& local = impl_->thread_of(d).local();
    endpoints.push_back(
        {local.text(), local.port(), impl_->base_qpn_ + d, impl_->rkey_, 0, impl_->thread_of(d).window_bytes()});
  }
  return endpoints;
}

void RoceReceiver::connect(std::span<const Endpoint> sources) { impl_->connect(sources); }
void RoceReceiver::start() { impl_->start(); }
void RoceReceiver::stop() noexcept { impl_->stop(); }

void RoceReceiver::release(std::uint32_t dtp, std::uint64_t end) noexcept {
  raise(impl_->ports_[dtp]->released, end);
  impl_->thread_of(dtp).wake();
}

void RoceReceiver::close(std::uint32_t dtp, std::uint64_t end) noexcept {
  raise(impl_->ports_[dtp]->closed, end);
  impl_->thread_of(dtp).wake();
}

ReceiverStats RoceReceiver::stats() const noexcept {
  ReceiverStats sum;
  for (const auto& counters : impl_->counters_) counters->add_to(sum);
  return sum;
}

}  // namespace rashpa::link::roce
