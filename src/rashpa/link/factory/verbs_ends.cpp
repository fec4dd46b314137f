// SPDX-License-Identifier: Apache-2.0
/// The ends of the link verbs.
#include <utility>

#include "rashpa/link/factory/ends.hpp"
#include "rashpa/link/verbs/offer_sender.hpp"
#include "rashpa/link/verbs/receiver.hpp"
#include "rashpa/link/verbs/sender.hpp"

namespace rashpa::link {

std::unique_ptr<Receiver> make(const verbs::Options& link, const ReceiverOptions& options, const ReceiverMemory& memory,
                               const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell) {
  const verbs::ReceiverConfig config{.address = options.end.address,
                                     .threads = options.threads,
                                     .options = link,
                                     .flow = options.end.flow,
                                     .poll = options.end.poll,
                                     .first_processor = options.first_processor};
  return std::make_unique<verbs::VerbsReceiver>(config, memory, dtps, queues, bell);
}

std::unique_ptr<Sender> Senders::make(const verbs::Options& options, const SenderDtp& dtp) {
  const std::string address = source_address(options_, dtp.destination);
  std::shared_ptr<verbs::SourceMemory>& memory = memory_[address];
  if (memory == nullptr) {
    // The device only reads: the block's type has no way to say so.
    std::vector<memory::DmaBlock> blocks;
    for (const std::span<const std::byte> one : frames_) {
      blocks.push_back({.data = const_cast<std::byte*>(one.data()), .bytes = one.size()});  // NOLINT
    }
    memory = std::make_shared<verbs::SourceMemory>(verbs::register_sources(options.device, address, blocks, options));
  }
  verbs::SenderConfig config{};
  config.memory = *memory;
  config.destination = dtp.destination;
  config.options = options;
  config.flow = options_.flow;
  config.poll = options_.poll;
  config.dtp = dtp.id;
  config.slots = dtp.slots;
  config.events = dtp.events;
  if (options.operation == verbs::Operation::read) return std::make_unique<verbs::OfferSender>(config);
  return std::make_unique<verbs::VerbsSender>(config);
}

std::string Senders::verbs_registration() const {
  return memory_.empty() ? std::string{} : memory_.begin()->second->blocks.front()->how();
}

}  // namespace rashpa::link
