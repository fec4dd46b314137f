// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/receiver.hpp"

#include <fmt/format.h>

#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/link/verbs/receiver_thread.hpp"

namespace rashpa::link::verbs {

namespace {

std::unique_ptr<Registration> registered(Device& device, const memory::DmaBlock& block, Paging paging) {
  return device.register_first({&block, 1}, memory::DmaAccess::write, paging);
}

}  // namespace

struct VerbsReceiver::Impl {
  ReceiverThread& thread_of(std::size_t dtp) noexcept { return *threads[dtp % threads.size()]; }
  [[nodiscard]] std::size_t position_of(std::size_t dtp) const noexcept { return dtp / threads.size(); }

  [[nodiscard]] std::uint64_t word_offset(std::size_t dtp) const noexcept {
    return memory.words ? lines->device_address() + *memory.words + dtp * kWordDistance : 0;
  }

  ReceiverMemory memory;
  bool provable = false;  // last words of an image are proof enough
  std::vector<std::unique_ptr<VerbsCounters>> counters;
  std::shared_ptr<Device> device;
  std::unique_ptr<Registration> lines;
  std::unique_ptr<Registration> own_records;  // null: records are in the block of lines
  [[nodiscard]] const Registration& records() const noexcept { return own_records ? *own_records : *lines; }
  std::vector<std::unique_ptr<EventDtp>> ports;
  std::vector<std::unique_ptr<ReceiverThread>> threads;  // queue pairs: they go before the registration
};

VerbsReceiver::VerbsReceiver(const ReceiverConfig& config, const ReceiverMemory& memory,
                             const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell)
    : ThreadedReceiver("verbs", dtps.size(), config.threads, queues.size()), impl_(std::make_unique<Impl>()) {
  check(config.options, config.flow);
  check_blocks("verbs", memory, config.options.verify);
  impl_->memory = memory;
  // A source that only offers pixels cannot write behind them.
  if (config.options.operation == Operation::read) impl_->memory.words.reset();
  if (impl_->memory.words && !memory.lines.accelerator) {
    std::memset(memory.lines.data + *memory.words, 0xFF, dtps.size() * kWordDistance);  // no image of any DTP
  }
  impl_->provable =
      config.flow == Flow::credits && config.options.verify == Verify::off && config.options.transport == Transport::rc;
  for (std::uint32_t t = 0; t < config.threads; ++t) impl_->counters.push_back(std::make_unique<VerbsCounters>());
  impl_->device = Device::open(config.options.device, config.address);
  if (config.options.paging == Paging::on_demand) {
    impl_->device->check_paging(IBV_ODP_SUPPORT_WRITE |
                                (config.options.operation == Operation::read ? unsigned{IBV_ODP_SUPPORT_READ} : 0U));
  }
  impl_->lines = registered(*impl_->device, memory.lines, config.options.paging);
  if (!memory.one_block()) {
    impl_->own_records = registered(*impl_->device, {.data = memory.records.data(), .bytes = memory.records.size()},
                                    config.options.paging);
  }
  const NotFree not_free = config.flow == Flow::credits ? NotFree::late : NotFree::overrun;
  auto& ports = impl_->ports;
  for (std::uint32_t d = 0; d < dtps.size(); ++d) {
    ports.push_back(std::make_unique<EventDtp>(dtps[d], d, memory, not_free, config.options.verify,
                                               *impl_->counters[d % config.threads]));
    add_dtp(*ports.back());
  }
  for (std::uint32_t t = 0; t < config.threads; ++t) {
    std::vector<EventDtp*> own;
    for (std::size_t d = t; d < ports.size(); d += config.threads) own.push_back(ports[d].get());
    impl_->threads.push_back(std::make_unique<ReceiverThread>(config, t, impl_->device, memory.records, *impl_->lines,
                                                              own, queues, bell, *impl_->counters[t]));
    add_thread(*impl_->threads.back(), *impl_->counters[t]);
  }
}

VerbsReceiver::~VerbsReceiver() { stop(); }

std::vector<Endpoint> VerbsReceiver::endpoints() const {
  constexpr std::uint16_t kRocePort = 4791;
  std::vector<Endpoint> endpoints;
  for (std::size_t d = 0; d < impl_->ports.size(); ++d) {
    endpoints.push_back({impl_->device->address(), kRocePort, impl_->thread_of(d).number_of(impl_->position_of(d)),
                         impl_->lines->rkey(), 0, 0, impl_->thread_of(d).first_psn_of(impl_->position_of(d)),
                         impl_->own_records ? impl_->own_records->rkey() : 0, impl_->word_offset(d)});
  }
  return endpoints;
}

std::uint64_t VerbsReceiver::base() const noexcept { return impl_->lines->device_address(); }
std::uint64_t VerbsReceiver::base_of_records() const noexcept { return impl_->records().device_address(); }
std::string VerbsReceiver::registration() const {
  return impl_->own_records ? impl_->lines->how() + "; records: " + impl_->own_records->how() : impl_->lines->how();
}

bool VerbsReceiver::overwritten(std::uint32_t dtp, std::uint64_t index) const noexcept {
  return impl_->ports[dtp]->overwritten(index);
}

PartProgress VerbsReceiver::progress(std::uint32_t dtp) const noexcept {
  return impl_->ports[dtp]->assembly.progress();
}

std::vector<LastWord> VerbsReceiver::last_words() const {
  std::vector<LastWord> words;
  if (!impl_->memory.words || !impl_->provable) return words;
  const memory::DmaBlock& lines = impl_->memory.lines;
  std::byte* const first = lines.data + *impl_->memory.words;
  for (std::size_t d = 0; d < impl_->ports.size(); ++d) {
    const ReceiverDtp& dtp = impl_->ports[d]->assembly.dtp();
    if (dtp.dealt) return {};
    words.push_back(last_word_of(dtp, impl_->memory.records));
    words.back().word = reinterpret_cast<const std::uint32_t*>(first + d * kWordDistance);
    if (lines.accelerator) continue;  // a device reads its own memory as it is
    words.back().block = first;
    words.back().block_bytes = impl_->ports.size() * kWordDistance;
  }
  return words;
}

void VerbsReceiver::connect(std::span<const Endpoint> senders) {
  check_senders(senders.size());
  for (std::size_t d = 0; d < senders.size(); ++d) {
    if (senders[d].word_offset == impl_->word_offset(d)) continue;
    throw ConfigError(
        fmt::format("buffer.trigger: word, and the source of DTP {} at {} does not write the words for which the GPU "
                    "waits; take a source that writes them, as rashpa emulator does, or trigger = \"auto\"",
                    impl_->ports[d]->assembly.dtp().id, senders[d].address));
  }
  for (std::size_t d = 0; d < senders.size(); ++d) impl_->thread_of(d).connect(impl_->position_of(d), senders[d]);
}

}  // namespace rashpa::link::verbs
