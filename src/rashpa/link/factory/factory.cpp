// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/factory/factory.hpp"

#include <fmt/format.h>

#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/link/factory/ends.hpp"
#include "rashpa/link/pcie/cuda/cuda_source.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/roce/credits/credit_listener.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/roce/sockets/route.hpp"
#include "rashpa/link/sls/receiver.hpp"
#include "rashpa/link/sls/sending/sender.hpp"
#include "rashpa/link/stream2/receiver.hpp"
#include "rashpa/link/stream2/sending/sender.hpp"

namespace rashpa::link {

std::string source_address(const EndOptions& options, const Endpoint& destination) {
  const wire::Address address(options.address, 0);
  if (!address.wildcard()) return options.address;
  return roce::local_towards(wire::Address(destination.address, destination.port)).text();
}

namespace {

// Options that two kinds cannot share.
void check(const EndOptions& options) {
  const Kind kind = kind_of(options.link);
  if ((kind == Kind::pcie) != (options.peer == Kind::pcie)) {
    throw ConfigError(fmt::format("link: pcie is memory that both sides map, but one side has {}; choose pcie for both",
                                  name_of(kind == Kind::pcie ? options.peer : kind)));
  }
  for (const Kind own : {Kind::sls, Kind::stream2}) {
    if ((kind == own) == (options.peer == own)) continue;
    throw ConfigError(fmt::format("link: {0} is a format of its own, but one side has {1}; choose {0} for both",
                                  name_of(own), name_of(kind == own ? options.peer : kind)));
  }
  if (const auto* stream = std::get_if<stream2::Options>(&options.link)) stream2::check(*stream);
  if (const auto* detector = std::get_if<sls::Options>(&options.link)) sls::check(*detector);
  if (const auto* card = std::get_if<fpga::Options>(&options.link)) fpga::check(*card);
  const auto needs_uc = [](const auto& link) {
    if constexpr (requires { link.transport; }) return link.transport != Transport::uc;
    return false;
  };
  if (options.peer == Kind::fpga && std::visit(needs_uc, options.link)) {
    throw ConfigError("link: a card sends by Unreliable Connected queue pairs; use transport uc to receive from it");
  }
  if (const auto* verbs = std::get_if<verbs::Options>(&options.link)) {
    if (verbs->transport == Transport::ud) {
      throw ConfigError("link: transport ud needs the link roce on both sides; use transport uc or rc with verbs");
    }
    verbs::check(*verbs);
    if (verbs->operation == verbs::Operation::read && (options.peer != Kind::verbs || options.flow != Flow::credits)) {
      throw ConfigError("link: operation read needs verbs on both sides and flow credits; use operation write");
    }
  }
  const auto* roce = std::get_if<roce::Options>(&options.link);
  if (roce == nullptr || options.peer == Kind::roce) return;
  if (roce->transport == Transport::ud) {
    throw ConfigError("link: transport ud needs the link roce on both sides; use transport uc or rc with verbs");
  }
  if (roce->framing == roce::Framing::v1) {
    throw ConfigError("link: framing v1 needs the link roce on both sides; use framing v2");
  }
}

std::unique_ptr<Receiver> make(const pcie::Options& link, const ReceiverOptions& options, const ReceiverMemory& memory,
                               const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell) {
  const pcie::ReceiverConfig config{.region_file = options.region_file,
                                    .threads = options.threads,
                                    .options = link,
                                    .flow = options.end.flow,
                                    .poll = options.end.poll,
                                    .first_processor = options.first_processor};
  return std::make_unique<pcie::PcieReceiver>(config, memory, dtps, queues, bell);
}

std::unique_ptr<Receiver> make(const roce::Options& link, const ReceiverOptions& options, const ReceiverMemory& memory,
                               const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell) {
  if (options.end.peer == Kind::verbs && (options.port != kRocePort || options.threads != 1)) {
    throw ConfigError(
        fmt::format("link: an RNIC sends to UDP port {} and no other; use that port and link_threads = 1, not port {} "
                    "and {} threads",
                    kRocePort, options.port, options.threads));
  }
  const roce::ReceiverConfig config{.bind_address = options.end.address,
                                    .port = options.port,
                                    .threads = options.threads,
                                    .options = link,
                                    .flow = options.end.flow,
                                    .poll = options.end.poll,
                                    .first_processor = options.first_processor};
  if (memory.lines.accelerator) {
    return std::make_unique<roce::GatheredRoceReceiver>(config, memory, dtps, queues, bell);
  }
  return std::make_unique<roce::RoceReceiver>(config, memory, dtps, queues, bell);
}

std::unique_ptr<Receiver> make(const sls::Options& link, const ReceiverOptions& options, const ReceiverMemory& memory,
                               const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell) {
  const sls::ReceiverConfig config{.bind_address = options.end.address,
                                   .port = options.port,
                                   .threads = options.threads,
                                   .options = link,
                                   .poll = options.end.poll,
                                   .first_processor = options.first_processor};
  return std::make_unique<sls::SlsReceiver>(config, memory, dtps, queues, bell);
}

std::unique_ptr<Receiver> make(const stream2::Options& link, const ReceiverOptions& options,
                               const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
                               ArrivalQueues& queues, Doorbell& bell) {
  const stream2::ReceiverConfig config{.bind_address = options.end.address,
                                       .threads = options.threads,
                                       .options = link,
                                       .poll = options.end.poll,
                                       .first_processor = options.first_processor};
  return std::make_unique<stream2::Stream2Receiver>(config, memory, dtps, queues, bell);
}

std::unique_ptr<Receiver> make(const fpga::Options& /*link*/, const ReceiverOptions& /*options*/,
                               const ReceiverMemory& /*memory*/, const std::vector<ReceiverDtp>& /*dtps*/,
                               ArrivalQueues& /*queues*/, Doorbell& /*bell*/) {
  throw ConfigError("link: a card only sends; choose roce or verbs to receive");
}

}  // namespace

Senders::Senders(const EndOptions& options, std::vector<std::span<const std::byte>> frames,
                 std::optional<FaultConfig> faults)
    : options_(options), frames_(std::move(frames)), faults_(faults) {
  check(options);
  if (options.peer == Kind::fpga) throw ConfigError("link: a card only sends; choose roce or verbs to receive");
  const Kind kind = kind_of(options.link);
  if (kind == Kind::verbs && faults) {
    throw ConfigError("link: an RNIC injects no packet faults; use link roce on the source side, or no faults");
  }
  if (kind == Kind::pcie && faults) {
    throw ConfigError("link: pcie has no packets that faults could hit; use link roce, or no packet faults");
  }
  if (const auto* pcie = std::get_if<pcie::Options>(&options.link)) {
    if (pcie->engine == pcie::EngineKind::cuda) pcie::CudaSource::check(static_cast<int>(pcie->engine_device));
  }
  // Bytes are acknowledged by user-space receivers, and by rc to user-space senders. Elsewhere a window of them would
  // only wait for its timeout.
  if (auto* roce = std::get_if<roce::Options>(&options_.link)) {
    if (roce->transport != Transport::rc && options.peer == Kind::verbs) roce->window_bytes = 0;
  }
  if (auto* verbs = std::get_if<verbs::Options>(&options_.link)) {
    if (verbs->transport == Transport::rc || options.peer == Kind::verbs) verbs->window_bytes = 0;
  }
}

Senders::~Senders() = default;

std::unique_ptr<Sender> Senders::make(const SenderDtp& dtp) {
  return std::visit([&](const auto& link) { return make(link, dtp); }, options_.link);
}

std::unique_ptr<Sender> Senders::make(const roce::Options& options, const SenderDtp& dtp) {
  const bool listens = options_.flow == Flow::credits || options.transport == Transport::rc;
  roce::SenderConfig config{};
  if (options_.peer == Kind::verbs && listens) {
    const std::string address = source_address(options_, dtp.destination);
    std::shared_ptr<roce::CreditListener>& credits = credits_[address];
    if (credits == nullptr) credits = std::make_shared<roce::CreditListener>(address, kRocePort);
    config.credits = credits;
  }
  config.bind_address = options_.address;
  config.destination = dtp.destination;
  config.options = options;
  config.flow = options_.flow;
  config.dtp = dtp.id;
  config.slots = dtp.slots;
  config.events = dtp.events;
  config.images = dtp.images;
  config.payload_bytes = dtp.payload_bytes;
  config.faults = faults_;
  return roce::make_sender(config);
}

std::unique_ptr<Sender> Senders::make(const pcie::Options& options, const SenderDtp& dtp) {
  if (remote_ == nullptr || !remote_->is(dtp.destination)) remote_ = pcie::RemoteMemory::open(dtp.destination);
  const pcie::SenderConfig config{.memory = remote_,
                                  .destination = dtp.destination,
                                  .flow = options_.flow,
                                  .poll = options_.poll,
                                  .slots = dtp.slots};
  switch (options.engine) {
    case pcie::EngineKind::cpu:
      break;
    case pcie::EngineKind::cuda:
      if (gpu_ == nullptr) {
        gpu_ = std::make_unique<pcie::CudaSource>(static_cast<int>(options.engine_device), frames_);
      }
      return std::make_unique<pcie::PcieCopySender>(config, pcie::CopyEngine(gpu_->make(remote_)));
  }
  return std::make_unique<pcie::PcieSender>(config);
}

std::unique_ptr<Sender> Senders::make(const sls::Options& options, const SenderDtp& dtp) {
  return std::make_unique<sls::SlsSender>(sls::SenderConfig{.bind_address = options_.address,
                                                            .destination = dtp.destination,
                                                            .options = options,
                                                            .dtp = dtp.id,
                                                            .images = dtp.images,
                                                            .payload_bytes = dtp.payload_bytes,
                                                            .faults = faults_});
}

std::unique_ptr<Sender> Senders::make(const stream2::Options& options, const SenderDtp& dtp) {
  return std::make_unique<stream2::Stream2Sender>(stream2::SenderConfig{.bind_address = options_.address,
                                                                        .destination = dtp.destination,
                                                                        .options = options,
                                                                        .dtp = dtp.id,
                                                                        .images = dtp.images,
                                                                        .payload_bytes = dtp.payload_bytes,
                                                                        .faults = faults_});
}

std::string Senders::registration() const {
  if (gpu_ != nullptr) return gpu_->how();
  return verbs_registration();
}

std::unique_ptr<Receiver> make_receiver(const ReceiverOptions& options, const ReceiverMemory& memory,
                                        const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell) {
  check(options.end);
  return std::visit([&](const auto& link) { return make(link, options, memory, dtps, queues, bell); },
                    options.end.link);
}

}  // namespace rashpa::link
