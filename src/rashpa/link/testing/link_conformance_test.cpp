// SPDX-License-Identifier: Apache-2.0
/// The contract of links on every link that runs in one process.
#include "rashpa/link/inproc/inproc.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/sls/receiver.hpp"
#include "rashpa/link/sls/sending/sender.hpp"
#include "rashpa/link/testing/link_contract.hpp"
#include "rashpa/memory/gather/testing.hpp"

namespace rashpa::link {
namespace {

Pair make_inproc(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                 Doorbell& bell) {
  auto receiver = std::make_unique<InprocReceiver>(region.bytes(), dtps, queues, bell);
  Pair pair;
  for (std::uint32_t d = 0; d < dtps.size(); ++d) pair.senders.push_back(receiver->make_sender(d));
  pair.receiver = std::move(receiver);
  return pair;
}

template <typename MadeReceiver = roce::RoceReceiver>
Pair make_roce_in(const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                  Doorbell& bell, Packetisation packetisation, Transport transport) {
  roce::ReceiverConfig config;
  config.options.transport = transport;
  config.options.packetisation = packetisation;
  config.options.pmtu = 1024;
  auto receiver = std::make_unique<MadeReceiver>(config, memory, dtps, queues, bell);
  Pair pair;
  std::vector<Endpoint> sources;
  for (const auto& endpoint : receiver->endpoints()) {
    roce::SenderConfig source;
    source.destination = endpoint;
    source.options = config.options;
    auto sender = roce::make_sender(source);
    sources.push_back(sender->endpoint());
    pair.senders.push_back(std::move(sender));
  }
  receiver->connect(sources);
  pair.receiver = std::move(receiver);
  return pair;
}
Pair make_roce(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
               Doorbell& bell, Packetisation packetisation, Transport transport = Transport::uc) {
  return make_roce_in(region.bytes(), dtps, queues, bell, packetisation, transport);
}
template <Packetisation packetisation, Transport transport>
Pair make_roce_gathered(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                        Doorbell& bell) {
  const auto images = std::make_shared<memory::testing::FarImages>(region.bytes());
  const ReceiverMemory memory(images->block(), region.bytes(), images.get());
  Pair pair = make_roce_in<roce::GatheredRoceReceiver>(memory, dtps, queues, bell, packetisation, transport);
  pair.memory = images;
  return pair;
}
Pair make_roce_only(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                    Doorbell& bell) {
  return make_roce(region, dtps, queues, bell, Packetisation::only);
}
Pair make_roce_fml(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                   Doorbell& bell) {
  return make_roce(region, dtps, queues, bell, Packetisation::first_middle_last);
}
Pair make_roce_rc(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                  Doorbell& bell) {
  return make_roce(region, dtps, queues, bell, Packetisation::first_middle_last, Transport::rc);
}
Pair make_roce_ud(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                  Doorbell& bell) {
  return make_roce(region, dtps, queues, bell, Packetisation::only, Transport::ud);
}

Pair make_pcie(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
               Doorbell& bell, Poll poll) {
  pcie::ReceiverConfig config;
  config.region_file = region.shared_file();
  config.poll = poll;
  auto receiver = std::make_unique<pcie::PcieReceiver>(config, region.bytes(), dtps, queues, bell);
  const auto memory = pcie::RemoteMemory::open(receiver->endpoints()[0]);
  Pair pair;
  std::vector<Endpoint> sources;
  for (const auto& endpoint : receiver->endpoints()) {
    auto sender =
        std::make_unique<pcie::PcieSender>(pcie::SenderConfig{.memory = memory, .destination = endpoint, .poll = poll});
    sources.push_back(sender->endpoint());
    pair.senders.push_back(std::move(sender));
  }
  receiver->connect(sources);
  pair.receiver = std::move(receiver);
  return pair;
}
Pair make_pcie_event(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                     Doorbell& bell) {
  return make_pcie(region, dtps, queues, bell, Poll::event);
}
Pair make_pcie_spin(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                    Doorbell& bell) {
  return make_pcie(region, dtps, queues, bell, Poll::spin);
}

constexpr std::uint32_t kSlsRows = 4;
constexpr std::uint32_t kSlsRowBytes = 512;

// EIGER with few rows, of which a frame is two packets a port.
Pair make_sls_in(const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                 Doorbell& bell) {
  sls::ReceiverConfig config;
  config.options.detector = sls::Detector::eiger;
  config.options.bits = 8;
  config.options.gigabits = 1;
  config.options.read_rows = kSlsRows;
  config.options.first_frame = 1;
  config.threads = static_cast<std::uint32_t>(dtps.size());
  auto receiver = std::make_unique<sls::SlsReceiver>(config, memory, dtps, queues, bell);
  Pair pair;
  std::vector<Endpoint> sources;
  const std::vector<Endpoint> endpoints = receiver->endpoints();
  for (std::size_t d = 0; d < dtps.size(); ++d) {
    sls::SenderConfig source;
    source.destination = endpoints[d];
    source.options = config.options;
    source.dtp = dtps[d].id;
    source.images = dtps[d].images;
    source.payload_bytes = dtps[d].placement.payload_bytes();
    pair.senders.push_back(std::make_unique<sls::SlsSender>(source));
    sources.push_back(pair.senders.back()->endpoint());
  }
  receiver->connect(sources);
  pair.receiver = std::move(receiver);
  return pair;
}

Pair make_sls(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
              Doorbell& bell) {
  return make_sls_in(region.bytes(), dtps, queues, bell);
}
Pair make_sls_gathered(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                       Doorbell& bell) {
  const auto images = std::make_shared<memory::testing::FarImages>(region.bytes());
  Pair pair = make_sls_in(ReceiverMemory(images->block(), region.bytes(), images.get()), dtps, queues, bell);
  pair.memory = images;
  return pair;
}

const auto kLinks = ::testing::Values(
    ContractLink{"inproc", &make_inproc}, ContractLink{"roce", &make_roce_only},
    ContractLink{"roce_first_middle_last", &make_roce_fml}, ContractLink{"roce_rc", &make_roce_rc},
    ContractLink{"roce_ud", &make_roce_ud},
    ContractLink{"roce_gathered", &make_roce_gathered<Packetisation::first_middle_last, Transport::uc>},
    ContractLink{"roce_rc_gathered", &make_roce_gathered<Packetisation::first_middle_last, Transport::rc>},
    ContractLink{"roce_ud_gathered", &make_roce_gathered<Packetisation::only, Transport::ud>},
    ContractLink{"pcie", &make_pcie_event}, ContractLink{"pcie_spinning", &make_pcie_spin});
const auto kNamed = [](const auto& param) { return std::string(param.param.name); };
INSTANTIATE_TEST_SUITE_P(Links, LinkContract, kLinks, kNamed);
INSTANTIATE_TEST_SUITE_P(Links, LinkCreditContract, kLinks, kNamed);
INSTANTIATE_TEST_SUITE_P(
    OneWay, LinkContract,
    ::testing::Values(
        ContractLink{.name = "sls", .make = &make_sls, .lines = kSlsRows, .line_bytes = kSlsRowBytes, .credits = false},
        ContractLink{.name = "sls_gathered",
                     .make = &make_sls_gathered,
                     .lines = kSlsRows,
                     .line_bytes = kSlsRowBytes,
                     .credits = false}),
    kNamed);

}  // namespace
}  // namespace rashpa::link
