// SPDX-License-Identifier: Apache-2.0
/// The contract of links on a card that writes memory: its RTL writes into the memory of an unchanged receiver of link
/// pcie. And what becomes of a run in which the card or the Iommu refuses a write.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "rashpa/core/log.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender-inl.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/testing/link_contract.hpp"
#include "writer_device.hpp"

namespace rashpa::link {
namespace {

Pair make_card(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
               Doorbell& bell, std::uint64_t mapped, std::uint64_t allowed) {
  pcie::ReceiverConfig config;
  config.region_file = region.shared_file();
  auto receiver = std::make_unique<pcie::PcieReceiver>(config, region.bytes(), dtps, queues, bell);
  const auto memory = pcie::RemoteMemory::open(receiver->endpoints()[0]);
  Pair pair;
  std::vector<Endpoint> sources;
  const auto endpoints = receiver->endpoints();
  for (std::uint32_t d = 0; d < dtps.size(); ++d) {
    auto device = std::make_unique<sim::WriterDevice>(
        sim::WriterPlace{.memory = memory, .dtp = d, .id = dtps[d].id, .mapped = mapped, .allowed = allowed});
    auto sender = std::make_unique<pcie::PcieCopySender>(
        pcie::SenderConfig{.memory = memory, .destination = endpoints[d]}, pcie::CopyEngine(std::move(device)));
    sources.push_back(sender->endpoint());
    pair.senders.push_back(std::move(sender));
  }
  receiver->connect(sources);
  pair.receiver = std::move(receiver);
  return pair;
}

constexpr std::uint64_t kAll = ~0ULL;

Pair make_writer(const memory::Buffer& region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues,
                 Doorbell& bell) {
  return make_card(region, dtps, queues, bell, kAll, kAll);
}

const auto kLinks = ::testing::Values(ContractLink{.name = "card", .make = &make_writer});
const auto kNamed = [](const auto& param) { return std::string(param.param.name); };
INSTANTIATE_TEST_SUITE_P(Writer, LinkContract, kLinks, kNamed);
INSTANTIATE_TEST_SUITE_P(Writer, LinkCreditContract, kLinks, kNamed);

/// A run in which the card's table of addresses, or the Iommu, allows less than the region.
class WriterRefused : public ::testing::Test {
 protected:
  /// Sends all images, of which the first `good` ones are whole; returns what the log says of the end.
  std::string play(std::uint64_t mapped, std::uint64_t allowed, std::uint64_t good) {
    for (log::Entry entry; log::take(entry);) continue;
    pair_ = make_card(region_, {dtp_}, queues_, bell_, mapped, allowed);
    pair_.receiver->start();
    Source source(dtp_, *pair_.senders[0]);
    const testing::Patience late;
    for (std::uint64_t k = 0; k < dtp_.images; ++k) EXPECT_TRUE(source.send(k, late)) << k;
    pair_.receiver->close(0, dtp_.images);
    for (std::uint64_t k = 0; k < dtp_.images; ++k) {
      Arrival arrival;
      EXPECT_EVENTUALLY(queues_.try_pop(arrival));
      EXPECT_EQ(arrival.index, k);
      EXPECT_EQ(arrival.completeness, k < good ? Completeness::complete : Completeness::missing) << k;
    }
    pair_.receiver->stop();
    EXPECT_EQ(pair_.senders[0]->granted(), kUnlimited) << "its source comes to its end";
    EXPECT_NE(pair_.senders[0]->stats()["send_errors"], 0U);
    std::string said;
    for (log::Entry entry; log::take(entry);) {
      EXPECT_EQ(entry.dtp, dtp_.id);
      said += entry.text();
    }
    return said;
  }

  // Pixels of four slots, then their records.
  ReceiverDtp dtp_ = small_dtp(9, 6, 4, 1000, 4, 8);
  memory::Buffer region_{end_of(dtp_), memory::MemoryKind::pageable, memory::Sharing::machine};
  ArrivalQueues queues_{1, 64};
  Doorbell bell_;
  Pair pair_;
};

TEST_F(WriterRefused, a_record_that_the_iommu_does_not_map_ends_the_run) {
  const std::uint64_t end = dtp_.placement.record_offset(1);
  EXPECT_EQ(play(end, kAll, 1), fmt::format("card: the host has refused a write to address {:#x}, which nothing maps; "
                                            "the run ends",
                                            0x40'0000'0000 + end));
}

TEST_F(WriterRefused, a_line_of_which_the_iommu_lacks_the_last_byte_ends_the_run) {
  const std::uint64_t end = dtp_.placement.image_offset(2) + 3 * dtp_.placement.pitch + 999;
  EXPECT_EQ(play(end, dtp_.placement.records_offset, 0),
            fmt::format("card: a write to offset {:#x} lies outside of the card's table of addresses; the run ends",
                        dtp_.placement.record_offset(0)))
      << "the table of addresses is asked first";
  pair_ = {};
  EXPECT_NE(play(end, kAll, 0).find("the host has refused a write"), std::string::npos);
}

TEST_F(WriterRefused, a_record_outside_of_the_table_of_addresses_is_never_written) {
  const std::uint64_t end = dtp_.placement.record_offset(2);
  EXPECT_EQ(
      play(kAll, end, 2),
      fmt::format("card: a write to offset {:#x} lies outside of the card's table of addresses; the run ends", end));
  for (std::uint64_t at = end; at < region_.size(); ++at) ASSERT_EQ(region_.data()[at], std::byte{}) << at;
}

}  // namespace
}  // namespace rashpa::link
