// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/factory/factory.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/memory/gather/testing.hpp"

namespace rashpa::link {
namespace {

TEST(LinkFactory, kinds_have_names_and_an_unknown_one_is_refused_with_the_choice) {
  EXPECT_EQ(kind_of("roce"), Kind::roce);
  for (const Kind kind : {Kind::roce, Kind::verbs, Kind::pcie, Kind::fpga}) EXPECT_EQ(kind_of(name_of(kind)), kind);
  try {
    kind_of("pigeon");
    FAIL() << "no such link";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("choose roce, verbs, pcie, fpga, sls or stream2"), std::string::npos)
        << error.what();
  }
}

TEST(LinkFactory, run_files_do_not_choose_a_card_as_a_link) {
  EXPECT_EQ(links_json().find("fpga"), std::string::npos);
  EXPECT_THROW(options_named("fpga", {}), ConfigError);
}

TEST(LinkFactory, an_rnic_injects_no_packet_faults) {
  EXPECT_THROW(Senders({.link = verbs::Options{}, .peer = Kind::verbs, .address = "127.0.0.1"}, {},
                       FaultConfig{.seed = 1, .drop = 0.1}),
               ConfigError);
}

TEST(LinkFactory, shared_memory_needs_pcie_on_both_sides_and_has_no_packets) {
  const EndOptions source{.link = pcie::Options{}, .peer = Kind::roce, .address = "127.0.0.1"};
  EXPECT_THROW(Senders(source, {}, std::nullopt), ConfigError);
  const EndOptions destination{.link = verbs::Options{}, .peer = Kind::pcie, .address = "127.0.0.1"};
  EXPECT_THROW(Senders(destination, {}, std::nullopt), ConfigError);
  const EndOptions both{.link = pcie::Options{}, .peer = Kind::pcie, .address = {}};
  EXPECT_THROW(Senders(both, {}, FaultConfig{.seed = 1, .drop = 0.1}), ConfigError);
  EXPECT_EQ(sharing_of(Kind::pcie), memory::Sharing::machine);
  EXPECT_EQ(sharing_of(Kind::roce), memory::Sharing::process);
}

TEST(LinkFactory, a_gpu_as_engine_is_refused_in_words_where_there_is_none) {
  pcie::Options options;
  options.engine = pcie::EngineKind::cuda;
  options.engine_device = 63;
  const EndOptions source{.link = options, .peer = Kind::pcie, .address = {}};
  try {
    const Senders senders(source, {}, std::nullopt);
    FAIL() << "there are no 64 devices";
  } catch (const ConfigError& error) {
    // Not built in, or not there, or fewer: each error says what to do.
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("pcie: ")) << what;
    EXPECT_TRUE(what.find("use engine cpu") != std::string::npos || what.find("engine_device") != std::string::npos)
        << what;
  }
  EXPECT_EQ(
      std::get<pcie::Options>(options_named("pcie", {{"engine", "cuda"}, {"engine_device", std::int64_t{2}}})).engine,
      pcie::EngineKind::cuda);
  EXPECT_THROW(options_named("pcie", {{"engine", "dma"}}), ConfigError);
}

TEST(LinkFactory, a_card_only_sends_and_never_to_memory_that_both_sides_map) {
  EXPECT_THROW(Senders({.link = fpga::Options{}, .peer = Kind::pcie, .address = "127.0.0.1"}, {}, std::nullopt),
               ConfigError);
  EXPECT_THROW(Senders({.link = fpga::Options{}, .peer = Kind::fpga, .address = "127.0.0.1"}, {}, std::nullopt),
               ConfigError);
  EXPECT_THROW(Senders({.link = roce::Options{}, .peer = Kind::fpga, .address = "127.0.0.1"}, {}, std::nullopt),
               ConfigError);
  fpga::Options options{.card = "/nowhere"};
  EXPECT_THROW(Senders({.link = options, .address = "127.0.0.1"}, {}, std::nullopt).make({}), FileError);
  options.destination_mac = "02:00:00:00:00";
  EXPECT_THROW(Senders({.link = options, .address = "127.0.0.1"}, {}, std::nullopt), ConfigError);
}

TEST(LinkFactory, datagrams_need_user_space_on_both_sides) {
  EndOptions options{.link = roce::Options{}, .peer = Kind::verbs, .address = "127.0.0.1"};
  std::get<roce::Options>(options.link).transport = Transport::ud;
  EXPECT_THROW(Senders(options, {}, std::nullopt), ConfigError);
  options.peer = Kind::roce;
  EXPECT_NO_THROW(Senders(options, {}, std::nullopt));
}

TEST(LinkFactory, roce_version_1_is_for_user_space_on_both_sides) {
  EndOptions options{.link = roce::Options{}, .peer = Kind::verbs, .address = "127.0.0.1"};
  std::get<roce::Options>(options.link).framing = roce::Framing::v1;
  EXPECT_THROW(Senders(options, {}, std::nullopt), ConfigError);
}

class Destination : public testing::Test {
 protected:
  Destination() {
    dtp_.images = 10;
    dtp_.placement = {
        .slot_bytes = 4096, .slots = 2, .pitch = 64, .line_bytes = 64, .lines = 4, .records_offset = 8192};
  }
  ReceiverOptions options_{.end = {.link = roce::Options{}, .peer = Kind::roce, .address = "127.0.0.1"}, .port = 0};
  std::vector<std::byte> region_ = std::vector<std::byte>(8192 + 384);
  ReceiverDtp dtp_;
  ArrivalQueues queues_{1, 16};
  Doorbell bell_;
};

TEST_F(Destination, what_an_rnic_sends_to_needs_its_port_and_one_thread) {
  options_.end.peer = Kind::verbs;
  EXPECT_THROW(make_receiver(options_, region_, {dtp_}, queues_, bell_), ConfigError);
  options_.port = 4791;
  options_.threads = 2;
  EXPECT_THROW(make_receiver(options_, region_, {dtp_}, queues_, bell_), ConfigError);
}

TEST_F(Destination, a_card_receives_nothing_and_is_received_with_uc) {
  options_.end.peer = Kind::fpga;
  EXPECT_NO_THROW(make_receiver(options_, region_, {dtp_}, queues_, bell_));
  options_.end.link = roce::Options{.transport = Transport::rc};
  EXPECT_THROW(make_receiver(options_, region_, {dtp_}, queues_, bell_), ConfigError);
  options_.end = {.link = fpga::Options{}, .peer = Kind::roce, .address = "127.0.0.1"};
  EXPECT_THROW(make_receiver(options_, region_, {dtp_}, queues_, bell_), ConfigError);
}

TEST_F(Destination, memory_of_an_accelerator_is_refused_in_words_by_links_that_cannot_write_it) {
  std::vector<std::byte> records(384);
  memory::DmaBlock lines{.data = region_.data(), .bytes = 8192};
  const auto refusal = [&] {
    try {
      make_receiver(options_, ReceiverMemory(lines, records), {dtp_}, queues_, bell_);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal().find("roce: this link has one key for lines and records"), std::string::npos) << refusal();
  lines.accelerator = true;
  EXPECT_NE(refusal().find("roce: this link writes to host memory only"), std::string::npos) << refusal();
  options_.end.link = pcie::Options{};
  options_.end.peer = Kind::pcie;
  EXPECT_NE(refusal().find("pcie: verify compares the CRC32C of bytes that lie in a GPU's memory"), std::string::npos)
      << refusal();
}

TEST_F(Destination, packets_of_roce_are_gathered_when_each_is_checked_in_sockets) {
  std::vector<std::byte> records(8192);
  memory::testing::FarImages images(region_);
  const ReceiverMemory memory(images.block(), records, &images);
  const auto refusal = [&](const roce::Options& link) {
    options_.end.link = link;
    try {
      make_receiver(options_, memory, {dtp_}, queues_, bell_);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  roce::Options link;
  link.icrc = roce::IcrcMode::off;
  EXPECT_NE(refusal(link).find("link.roce.icrc: off leaves lines"), std::string::npos) << refusal(link);
  link.icrc = roce::IcrcMode::full;
  EXPECT_NE(refusal(link).find("icrc full take frames"), std::string::npos) << refusal(link);
  options_.end.link = roce::Options{};
  dtp_.placement.records_offset = 0;
  const auto receiver = make_receiver(options_, memory, {dtp_}, queues_, bell_);
  const auto* const registering = able<Registering>(*receiver);
  ASSERT_NE(registering, nullptr);
  EXPECT_EQ(registering->base(), 0U);
  EXPECT_GE(registering->base_of_records(), images.block().bytes) << "behind the lines";
}

TEST_F(Destination, user_space_receivers_need_no_registration_and_count_from_zero) {
  const auto link = make_receiver(options_, region_, {dtp_}, queues_, bell_);
  EXPECT_EQ(link->endpoints().size(), 1U);
  EXPECT_EQ(able<Registering>(*link), nullptr);
}

class Transports : public Destination, public testing::WithParamInterface<Transport> {};

TEST_P(Transports, each_side_says_where_it_is_and_credits_reach_the_source) {
  options_.end.link = roce::Options{.transport = GetParam()};
  const auto link = make_receiver(options_, region_, {dtp_}, queues_, bell_);
  Senders links({.link = roce::Options{.transport = GetParam(), .pmtu = 1024}, .address = "127.0.0.1"}, {},
                std::nullopt);
  const std::unique_ptr<Sender> source =
      links.make({.destination = link->endpoints()[0], .id = 0, .images = 10, .payload_bytes = 256});
  const std::vector<Endpoint> ends{source->endpoint()};
  link->connect(ends);
  link->start();
  for (int tries = 0; tries < 1000 && source->granted() == 0; ++tries) source->poll(10'000);
  EXPECT_EQ(source->granted(), 2U) << "as many images as there are slots";
  link->stop();
}

INSTANTIATE_TEST_SUITE_P(All, Transports, testing::Values(Transport::uc, Transport::rc, Transport::ud));
TEST_F(Destination, pcie_links_a_source_to_a_region_that_others_can_map) {
  options_.end.link = pcie::Options{};
  options_.end.peer = Kind::pcie;
  EXPECT_THROW(make_receiver(options_, region_, {dtp_}, queues_, bell_), ConfigError) << "this one cannot be mapped";
  const memory::Buffer region(region_.size(), memory::MemoryKind::pageable, memory::Sharing::machine);
  options_.region_file = region.shared_file();
  const auto link = make_receiver(options_, region.bytes(), {dtp_}, queues_, bell_);
  Senders links(options_.end, {}, std::nullopt);
  const std::unique_ptr<Sender> source =
      links.make({.destination = link->endpoints()[0], .id = 0, .images = 10, .payload_bytes = 256});
  const std::vector<Endpoint> ends{source->endpoint()};
  link->connect(ends);
  link->start();
  EXPECT_EQ(source->granted(), 2U) << "as many images as there are slots";
  const auto* const checksumming = able<Checksumming>(*source);
  ASSERT_NE(checksumming, nullptr);
  EXPECT_TRUE(checksumming->makes_payload_crc32c());
  EXPECT_EQ(able<Registering>(*link), nullptr);
  link->stop();
}

}  // namespace
}  // namespace rashpa::link
