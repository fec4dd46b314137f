// SPDX-License-Identifier: Apache-2.0
/// The contract of links between two hosts, where only packet sockets can carry it.
#include "network.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/testing/link_contract.hpp"

namespace rashpa::net {
namespace {

using link::ArrivalQueues;
using link::Pair;
using link::ReceiverDtp;

Pair make(const link::roce::Options& options, const std::string& source, const std::string& destination,
          const Cable& cable, const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
          Doorbell& bell) {
  Pair pair;
  std::unique_ptr<link::roce::RoceReceiver> receiver;
  std::vector<link::Endpoint> sources;
  cable.two.within([&] {
    link::roce::ReceiverConfig config;
    config.bind_address = destination;
    config.options = options;
    receiver = std::make_unique<link::roce::RoceReceiver>(config, region.bytes(), dtps, queues, bell);
  });
  cable.one.within([&] {
    for (const auto& endpoint : receiver->endpoints()) {
      link::roce::SenderConfig config;
      config.bind_address = source;
      config.destination = endpoint;
      config.options = options;
      auto sender = link::roce::make_sender(config);
      sources.push_back(sender->endpoint());
      pair.senders.push_back(std::move(sender));
    }
  });
  receiver->connect(sources);
  pair.receiver = std::move(receiver);
  return pair;
}

const Cable& cable() {
  static const Cable one;
  return one;
}

Pair make_roce1(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                Doorbell& bell) {
  const Cable& way = cable();
  return make({.pmtu = 1024, .framing = link::roce::Framing::v1}, way.one.gid(), way.two.gid(), way, region, dtps,
              queues, bell);
}

Pair make_full_icrc(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                    Doorbell& bell) {
  const Cable& way = cable();
  return make({.pmtu = 1024, .icrc = link::roce::IcrcMode::full}, way.one.ipv4(), way.two.ipv4(), way, region, dtps,
              queues, bell);
}

}  // namespace
}  // namespace rashpa::net

namespace rashpa::link {

const auto kLinks =
    ::testing::Values(ContractLink{"roce1", &net::make_roce1}, ContractLink{"roce_full_icrc", &net::make_full_icrc});
const auto kNamed = [](const auto& param) { return std::string(param.param.name); };
INSTANTIATE_TEST_SUITE_P(PacketSockets, LinkContract, kLinks, kNamed);
INSTANTIATE_TEST_SUITE_P(PacketSockets, LinkCreditContract, kLinks, kNamed);

}  // namespace rashpa::link
