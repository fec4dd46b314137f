// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/receiver.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/receiver_thread.hpp"
#include "rashpa/wire/random_numbers.hpp"

namespace rashpa::link::roce {

namespace {

// Both blocks as one, for lines in memory of a device.
ReceiverMemory joined(ReceiverMemory memory) noexcept {
  constexpr std::uint64_t kPage = 4096;
  if (memory.lines.accelerator) memory.records_at = (memory.lines.bytes + kPage - 1) / kPage * kPage;
  return memory;
}

void check_gather(const Options& options) {
  if (options.records && options.icrc == IcrcMode::off) {
    throw ConfigError(
        "link.roce.icrc: off leaves lines to the record's CRC32C, and they lie in memory of a GPU where the host "
        "cannot read them; use \"modulo_id\", or memory huge");
  }
  if (options.framing == Framing::v1 || options.icrc == IcrcMode::full) {
    throw ConfigError(
        "link.roce: framing v1 and icrc full take frames from packet sockets, whose buffers a GPU does not read; use "
        "v2 and \"modulo_id\", or memory huge");
  }
}

}  // namespace

struct RoceReceiver::Impl {
  ReceiverThread& thread_of(std::size_t dtp) noexcept { return *threads[dtp % threads.size()]; }

  std::vector<std::unique_ptr<PacketCounters>> counters;
  std::vector<std::unique_ptr<memory::Gather>> gathers;  // of each thread; null: lines lie in host memory
  std::uint32_t rkey = 0;
  std::uint32_t base_qpn = 0;
  std::vector<std::unique_ptr<PacketDtp>> ports;
  std::vector<std::unique_ptr<ReceiverThread>> threads;
};

RoceReceiver::RoceReceiver(const ReceiverConfig& config, const ReceiverMemory& memory,
                           const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell)
    : ThreadedReceiver("roce", dtps.size(), config.threads, queues.size()), impl_(std::make_unique<Impl>()) {
  check(config.options);
  check_gathered("roce", memory);
  if (memory.lines.accelerator) check_gather(config.options);
  const ReceiverMemory blocks = joined(memory);
  if (config.port != 0 && config.port + config.threads > 65536) {
    throw ConfigError(fmt::format("roce: {} threads from port {} go beyond port 65535; choose a lower port, or 0",
                                  config.threads, config.port));
  }
  impl_->rkey = wire::random_key();
  impl_->base_qpn = wire::random_qpn();
  const NotFree not_free = config.flow == Flow::credits ? NotFree::late : NotFree::overrun;
  auto& counters = impl_->counters;
  auto& gathers = impl_->gathers;
  for (std::uint32_t t = 0; t < config.threads; ++t) {
    counters.push_back(std::make_unique<PacketCounters>());
    gathers.push_back(gather_into(memory, {}));
  }
  auto& ports = impl_->ports;
  for (std::uint32_t d = 0; d < dtps.size(); ++d) {
    ReceiverDtp dtp = dtps[d];
    dtp.placement.records_offset += blocks.records_at;
    const std::uint32_t thread = d % config.threads;
    ports.push_back(std::make_unique<PacketDtp>(dtp, d, config.options, impl_->rkey, blocks, not_free,
                                                *counters[thread], gathers[thread].get()));
    add_dtp(*ports.back());
  }
  for (std::uint32_t t = 0; t < config.threads; ++t) {
    std::vector<PacketDtp*> own(ports.size(), nullptr);
    for (std::size_t d = t; d < ports.size(); d += config.threads) own[d] = ports[d].get();
    impl_->threads.push_back(std::make_unique<ReceiverThread>(config, t, impl_->base_qpn, std::move(own), queues, bell,
                                                              *counters[t], gathers[t].get()));
    add_thread(*impl_->threads.back(), *counters[t]);
  }
}

RoceReceiver::~RoceReceiver() { stop(); }

GatheredRoceReceiver::GatheredRoceReceiver(const ReceiverConfig& config, const ReceiverMemory& memory,
                                           const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell)
    : RoceReceiver(config, memory, dtps, queues, bell), records_at_(joined(memory).records_at) {}

std::vector<Endpoint> RoceReceiver::endpoints() const {
  std::vector<Endpoint> endpoints;
  for (std::uint32_t d = 0; d < impl_->ports.size(); ++d) {
    const ReceiverThread& thread = impl_->thread_of(d);
    endpoints.push_back({.address = thread.local().text(),
                         .port = thread.local().port(),
                         .qpn = impl_->base_qpn + d,
                         .rkey = impl_->rkey,
                         .window_bytes = thread.window_bytes(),
                         .psn = thread.credit_psn(d)});
  }
  return endpoints;
}

PartProgress RoceReceiver::progress(std::uint32_t dtp) const noexcept { return impl_->ports[dtp]->assembly.progress(); }

void RoceReceiver::connect(std::span<const Endpoint> senders) {
  check_senders(senders.size());
  for (std::uint32_t d = 0; d < senders.size(); ++d) impl_->thread_of(d).connect(d, senders[d]);
}

}  // namespace rashpa::link::roce
