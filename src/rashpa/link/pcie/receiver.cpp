// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/receiver.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/pcie/receiver_thread.hpp"

namespace rashpa::link::pcie {

namespace {

std::uint32_t checked(std::size_t dtps) {
  if (dtps <= kMostDtps) return static_cast<std::uint32_t>(dtps);
  throw ConfigError(fmt::format("pcie: the receiver has {} DTPs; give it 1 … {}", dtps, kMostDtps));
}

const ReceiverMemory& checked(const ReceiverConfig& config, const ReceiverMemory& memory) {
  check_blocks("pcie", memory, config.options.verify);
  return memory;
}

}  // namespace

struct PcieReceiver::Impl {
  Impl(const ReceiverConfig& config, const ReceiverMemory& memory, std::size_t dtps)
      : control(memory.records.size(), config.region_file, checked(dtps), config.threads, memory.lines),
        records(memory.records),
        provable(config.flow == Flow::credits && config.options.verify == Verify::off) {}

  ControlBlock control;
  std::span<std::byte> records;
  bool provable;  // last words of an image are proof enough
  std::vector<std::unique_ptr<ReceiverCounters>> counters;
  std::vector<std::unique_ptr<EventDtp>> ports;
  std::vector<std::unique_ptr<ReceiverThread>> threads;
};

PcieReceiver::PcieReceiver(const ReceiverConfig& config, const ReceiverMemory& memory,
                           const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell)
    : ThreadedReceiver("pcie", dtps.size(), config.threads, queues.size()),
      impl_(std::make_unique<Impl>(config, checked(config, memory), dtps.size())) {
  const NotFree not_free = config.flow == Flow::credits ? NotFree::late : NotFree::overrun;
  auto& counters = impl_->counters;
  for (std::uint32_t t = 0; t < config.threads; ++t) counters.push_back(std::make_unique<ReceiverCounters>());
  auto& ports = impl_->ports;
  for (std::uint32_t d = 0; d < dtps.size(); ++d) {
    ports.push_back(
        std::make_unique<EventDtp>(dtps[d], d, memory, not_free, config.options.verify, *counters[d % config.threads]));
    add_dtp(*ports.back());
  }
  for (std::uint32_t t = 0; t < config.threads; ++t) {
    std::vector<PolledDtp> own;
    for (std::size_t d = t; d < ports.size(); d += config.threads) {
      own.push_back({.port = ports[d].get(), .shared = &impl_->control.dtp(d)});
    }
    impl_->threads.push_back(std::make_unique<ReceiverThread>(config, t, memory.records, std::move(own),
                                                              impl_->control.thread(t), queues, bell, *counters[t]));
    add_thread(*impl_->threads.back(), *counters[t]);
  }
}

PcieReceiver::~PcieReceiver() { stop(); }

std::vector<Endpoint> PcieReceiver::endpoints() const {
  std::vector<Endpoint> endpoints;
  for (std::uint32_t d = 0; d < impl_->ports.size(); ++d) endpoints.push_back(impl_->control.endpoint(d));
  return endpoints;
}

std::vector<LastWord> PcieReceiver::last_words() const {
  std::vector<LastWord> words;
  for (std::size_t d = 0; d < impl_->ports.size() && impl_->provable; ++d) {
    const EventDtp& port = *impl_->ports[d];
    const ReceiverDtp& dtp = port.assembly.dtp();
    if (dtp.dealt) return {};
    static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
    words.push_back(last_word_of(dtp, impl_->records));
    words.back().word = reinterpret_cast<const std::uint32_t*>(&impl_->control.dtp(d).lock);
    words.back().block = impl_->control.bytes().data();
    words.back().block_bytes = impl_->control.bytes().size();
  }
  return words;
}

bool PcieReceiver::overwritten(std::uint32_t dtp, std::uint64_t index) const noexcept {
  const EventDtp& port = *impl_->ports[dtp];
  if (port.overwritten(index)) return true;
  // Images begun: the one that comes to the same slot is among them.
  const std::uint64_t begun = impl_->control.dtp(dtp).begun.load(std::memory_order_acquire);
  return begun > index + port.assembly.dtp().placement.slots;
}

void PcieReceiver::connect(std::span<const Endpoint> senders) {
  check_senders(senders.size());
  for (std::uint32_t d = 0; d < senders.size(); ++d) {
    const Endpoint own = impl_->control.endpoint(d);
    if (senders[d].address != own.address || senders[d].qpn != own.qpn || senders[d].rkey != own.rkey) {
      throw ConfigError(fmt::format(
          "pcie: source {} writes to DTP {} of {}, and not to DTP {} of this receiver, {}; configure both sides anew",
          d, senders[d].qpn, senders[d].address, d, own.address));
    }
  }
}

}  // namespace rashpa::link::pcie
