// SPDX-License-Identifier: Apache-2.0
/// The contract of links on every link that runs in one process.
#include "rashpa/link/inproc/inproc.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/testing/link_contract.hpp"

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

Pair make_roce(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
               Doorbell& bell, Packetisation packetisation, Transport transport = Transport::uc) {
  roce::ReceiverConfig config;
  config.options.transport = transport;
  config.options.packetisation = packetisation;
  config.options.pmtu = 1024;
  auto receiver = std::make_unique<roce::RoceReceiver>(config, region.bytes(), dtps, queues, bell);
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

INSTANTIATE_TEST_SUITE_P(Links, LinkContract,
                         ::testing::Values(std::pair{"inproc", &make_inproc}, std::pair{"roce", &make_roce_only},
                                           std::pair{"roce_first_middle_last", &make_roce_fml},
                                           std::pair{"roce_rc", &make_roce_rc}, std::pair{"roce_ud", &make_roce_ud},
                                           std::pair{"pcie", &make_pcie_event},
                                           std::pair{"pcie_spinning", &make_pcie_spin}),
                         [](const auto& param) { return param.param.first; });

}  // namespace
}  // namespace rashpa::link
