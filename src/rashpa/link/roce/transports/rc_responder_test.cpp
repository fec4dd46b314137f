// SPDX-License-Identifier: Apache-2.0
/// Each rule of the responder. Packets are made by the codec, which shares no code with the data path.
#include "rashpa/link/roce/transports/rc_responder.hpp"

#include <gtest/gtest.h>

#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::link::roce {
namespace {

constexpr std::uint32_t kPmtu = 256;
constexpr std::uint32_t kKey = 0x1234;
constexpr std::uint64_t kRegion = 4096;
constexpr std::uint32_t kQpn = 17;
constexpr std::uint8_t kTimer = 12;

struct Sent {
  const char* operation = "RDMA_WRITE_ONLY";
  std::uint32_t psn = 0;
  std::uint32_t payload = 8;
  std::uint64_t address = 0;
  std::uint32_t key = kKey;
  std::optional<std::uint32_t> length{};
  bool ask = false;
};

class RcResponderTest : public ::testing::Test {
 protected:
  RcResponderTest() { responder_.connect(5); }
  RcVerdict give(const Sent& sent) {
    wire::Packet packet;
    packet.bth.opcode = *wire::opcode_of(std::string("RC_") + sent.operation);
    packet.bth.destination_qp = kQpn;
    packet.bth.psn = sent.psn & wire::kPsnMask;
    packet.bth.ack_request = sent.ask ? 1 : 0;
    const std::string_view name = sent.operation;
    const bool starts = name.find("FIRST") != name.npos || name.find("ONLY") != name.npos;
    if (starts && name.find("WRITE") != name.npos) packet.reth = wire::RethHeader{sent.address, sent.key, sent.length};
    if (name.find("IMMEDIATE") != name.npos) packet.immediate = 0xAABBCCDD;
    packet.payload.assign(sent.payload, std::byte{7});
    packet.icrc.value = 0;
    bytes_ = encode(packet);
    out_ = {};
    return responder_.receive(wire::load_bth(bytes_.data()), bytes_, out_);
  }
  RcVerdict only(std::uint32_t psn, bool ask = false) { return give({.psn = psn, .ask = ask}); }
  RcVerdict first(std::uint32_t psn, std::uint32_t length, std::uint64_t address = 0) {
    return give({.operation = "RDMA_WRITE_FIRST", .psn = psn, .payload = kPmtu, .address = address, .length = length});
  }
  RcVerdict middle(std::uint32_t psn) { return give({.operation = "RDMA_WRITE_MIDDLE", .psn = psn, .payload = kPmtu}); }
  RcVerdict last(std::uint32_t psn, std::uint32_t payload) {
    return give({.operation = "RDMA_WRITE_LAST", .psn = psn, .payload = payload});
  }
  RcVerdict event(std::uint32_t psn) { return give({.operation = "RDMA_WRITE_ONLY_WITH_IMMEDIATE", .psn = psn}); }
  void expect_no_answer() {
    EXPECT_FALSE(responder_.take_nak());
    EXPECT_FALSE(responder_.take_acknowledgement());
  }

  RcResponder responder_{kPmtu, kKey, kRegion, kTimer};
  std::vector<std::byte> bytes_;
  AcceptedWrite out_;
};

TEST_F(RcResponderTest, packets_are_executed_in_the_order_of_their_sequence_numbers) {
  EXPECT_EQ(only(5), RcVerdict::accepted);
  EXPECT_TRUE(out_.starts_message);
  EXPECT_EQ(out_.payload.size(), 8U);
  EXPECT_EQ(only(6), RcVerdict::accepted);
  EXPECT_EQ(responder_.expected_psn(), 7U);
  expect_no_answer();
}

TEST_F(RcResponderTest, an_acknowledgement_is_sent_when_it_is_asked_for_and_one_serves_a_batch) {
  EXPECT_EQ(only(5, true), RcVerdict::accepted);
  EXPECT_EQ(only(6, true), RcVerdict::accepted);
  EXPECT_EQ(only(7), RcVerdict::accepted);
  EXPECT_EQ(responder_.take_acknowledgement(), (Acknowledgement{7, 0x1F, 3}))
      << "no end-to-end credits, three messages";
  expect_no_answer();
}

TEST_F(RcResponderTest, the_message_number_counts_whole_messages) {
  ASSERT_EQ(first(5, 2 * kPmtu), RcVerdict::accepted);
  ASSERT_EQ(give({.operation = "RDMA_WRITE_LAST", .psn = 6, .payload = kPmtu, .ask = true}), RcVerdict::accepted);
  EXPECT_EQ(responder_.take_acknowledgement(), (Acknowledgement{6, 0x1F, 1}));
}

TEST_F(RcResponderTest, a_duplicate_is_acknowledged_again_and_not_executed) {
  ASSERT_EQ(only(5), RcVerdict::accepted);
  ASSERT_EQ(only(6), RcVerdict::accepted);
  EXPECT_EQ(only(5), RcVerdict::duplicate);
  EXPECT_EQ(responder_.take_acknowledgement(), (Acknowledgement{6, 0x1F, 2})) << "of all that was executed";
  EXPECT_EQ(only(7), RcVerdict::accepted);
}

TEST_F(RcResponderTest, a_gap_gets_one_nak_until_the_expected_packet_comes) {
  EXPECT_EQ(only(6, true), RcVerdict::ahead);
  EXPECT_EQ(responder_.take_nak(), (Acknowledgement{5, 0x60, 0}));
  EXPECT_EQ(only(7, true), RcVerdict::ahead);
  EXPECT_EQ(only(6, true), RcVerdict::ahead);
  expect_no_answer();
  EXPECT_EQ(only(5), RcVerdict::accepted);
  EXPECT_EQ(only(7), RcVerdict::ahead);
  EXPECT_EQ(responder_.take_nak(), (Acknowledgement{6, 0x60, 1})) << "the next gap gets its own";
}

TEST_F(RcResponderTest, a_nak_takes_the_place_of_an_acknowledgement_that_was_due) {
  EXPECT_EQ(only(5, true), RcVerdict::accepted);
  EXPECT_EQ(only(7), RcVerdict::ahead);
  EXPECT_EQ(responder_.take_nak(), (Acknowledgement{6, 0x60, 1})) << "it acknowledges what is before it";
  expect_no_answer();
}

TEST_F(RcResponderTest, sequence_numbers_wrap) {
  responder_.connect(0xFFFFFE);
  ASSERT_EQ(first(0xFFFFFE, 3 * kPmtu + 10, 100), RcVerdict::accepted);
  ASSERT_EQ(middle(0xFFFFFF), RcVerdict::accepted);
  EXPECT_EQ(out_.offset, 100U + kPmtu);
  EXPECT_EQ(middle(1), RcVerdict::ahead);
  EXPECT_EQ(responder_.take_nak(), (Acknowledgement{0, 0x60, 0}));
  ASSERT_EQ(middle(0), RcVerdict::accepted);
  ASSERT_EQ(last(1, 10), RcVerdict::accepted);
  EXPECT_EQ(out_.offset, 100U + 3 * kPmtu);
  EXPECT_EQ(last(1, 10), RcVerdict::duplicate);
  EXPECT_EQ(only(0xFFFFFF), RcVerdict::duplicate);
  EXPECT_EQ(responder_.take_acknowledgement(), (Acknowledgement{1, 0x1F, 1}));
}

TEST_F(RcResponderTest, half_of_all_sequence_numbers_are_behind_and_half_ahead) {
  EXPECT_EQ(only(5 + (1U << 23)), RcVerdict::duplicate);
  EXPECT_EQ(only(5 + (1U << 23) - 1), RcVerdict::ahead);
}

TEST_F(RcResponderTest, an_immediate_without_a_receive_is_told_to_come_again) {
  responder_.set_receives(1);
  ASSERT_EQ(event(5), RcVerdict::accepted);
  EXPECT_TRUE(out_.has_immediate);
  EXPECT_EQ(out_.immediate, 0xAABBCCDDU);
  EXPECT_EQ(event(6), RcVerdict::not_ready);
  EXPECT_EQ(responder_.take_nak(), (Acknowledgement{6, 0x20 | kTimer, 1}));
  EXPECT_EQ(only(7), RcVerdict::ahead);
  EXPECT_FALSE(responder_.take_nak()) << "the RNR NAK has said what is expected";
  EXPECT_EQ(event(6), RcVerdict::not_ready);
  EXPECT_EQ(responder_.take_nak(), (Acknowledgement{6, 0x20 | kTimer, 1})) << "each attempt is answered";
  responder_.set_receives(2);
  EXPECT_EQ(event(6), RcVerdict::accepted);
  EXPECT_EQ(only(7), RcVerdict::accepted) << "writes without immediate need no receive";
}

struct Refused {
  const char* name;
  std::vector<Sent> before;
  Sent sent;
  RcVerdict verdict;
  std::uint8_t syndrome;
};

class RcRefusals : public RcResponderTest, public ::testing::WithParamInterface<Refused> {};

TEST_P(RcRefusals, are_named_once_and_put_the_queue_pair_in_error) {
  const Refused& c = GetParam();
  for (const Sent& sent : c.before) ASSERT_EQ(give(sent), RcVerdict::accepted);
  EXPECT_EQ(give(c.sent), c.verdict);
  const auto nak = responder_.take_nak();
  ASSERT_TRUE(nak);
  EXPECT_EQ(nak->psn, c.sent.psn);
  EXPECT_EQ(nak->syndrome, c.syndrome);
  EXPECT_TRUE(responder_.in_error());
  EXPECT_EQ(only(c.sent.psn), RcVerdict::dropped);
  EXPECT_EQ(only(5), RcVerdict::dropped);
  expect_no_answer();
}

const Sent kOpen{.operation = "RDMA_WRITE_FIRST", .psn = 5, .payload = kPmtu, .length = 3 * kPmtu};

INSTANTIATE_TEST_SUITE_P(
    Rules, RcRefusals,
    ::testing::Values(
        Refused{"wrong_key", {}, {.psn = 5, .key = kKey + 1}, RcVerdict::refused, 0x62},
        Refused{"behind_the_region", {}, {.psn = 5, .address = kRegion - 4}, RcVerdict::refused, 0x62},
        Refused{"offset_overflows", {}, {.psn = 5, .address = ~0ULL - 3}, RcVerdict::refused, 0x62},
        Refused{"whole_message_must_fit",
                {},
                {.operation = "RDMA_WRITE_FIRST",
                 .psn = 5,
                 .payload = kPmtu,
                 .address = kRegion - std::uint64_t{2} * kPmtu,
                 .length = 3 * kPmtu},
                RcVerdict::refused,
                0x62},
        Refused{"middle_without_message",
                {},
                {.operation = "RDMA_WRITE_MIDDLE", .psn = 5, .payload = kPmtu},
                RcVerdict::invalid,
                0x61},
        Refused{"last_without_message", {}, {.operation = "RDMA_WRITE_LAST", .psn = 5}, RcVerdict::invalid, 0x61},
        Refused{"only_in_a_message", {kOpen}, {.psn = 6}, RcVerdict::invalid, 0x61},
        Refused{"first_in_a_message",
                {kOpen},
                {.operation = "RDMA_WRITE_FIRST", .psn = 6, .payload = kPmtu, .length = 3 * kPmtu},
                RcVerdict::invalid,
                0x61},
        Refused{"short_first",
                {},
                {.operation = "RDMA_WRITE_FIRST", .psn = 5, .payload = kPmtu - 4, .length = 3 * kPmtu},
                RcVerdict::invalid,
                0x61},
        Refused{"first_that_is_all",
                {},
                {.operation = "RDMA_WRITE_FIRST", .psn = 5, .payload = kPmtu, .length = kPmtu},
                RcVerdict::invalid,
                0x61},
        Refused{"short_middle",
                {kOpen},
                {.operation = "RDMA_WRITE_MIDDLE", .psn = 6, .payload = kPmtu - 4},
                RcVerdict::invalid,
                0x61},
        Refused{"last_before_the_end",
                {kOpen},
                {.operation = "RDMA_WRITE_LAST", .psn = 6, .payload = kPmtu},
                RcVerdict::invalid,
                0x61},
        Refused{"length_differs", {}, {.psn = 5, .payload = 8, .length = 12}, RcVerdict::invalid, 0x61},
        Refused{"longer_than_the_path_mtu", {}, {.psn = 5, .payload = kPmtu + 4}, RcVerdict::invalid, 0x61},
        Refused{"send", {}, {.operation = "SEND_ONLY", .psn = 5}, RcVerdict::invalid, 0x61},
        Refused{
            "send_with_immediate", {}, {.operation = "SEND_ONLY_WITH_IMMEDIATE", .psn = 5}, RcVerdict::invalid, 0x61}),
    [](const auto& test) { return test.param.name; });

TEST_F(RcResponderTest, a_write_of_no_bytes_names_no_memory) {
  EXPECT_EQ(give({.psn = 5, .payload = 0, .address = ~0ULL, .key = 0}), RcVerdict::accepted);
}

TEST_F(RcResponderTest, what_is_no_request_of_this_transport_is_dropped_without_an_answer) {
  ASSERT_EQ(only(5), RcVerdict::accepted);
  for (const unsigned opcode : {0x2AU, 0x64U, 0x11U, 0x0DU, 0x81U}) {
    bytes_[0] = static_cast<std::byte>(opcode);
    EXPECT_EQ(responder_.receive(wire::load_bth(bytes_.data()), bytes_, out_), RcVerdict::malformed) << opcode;
  }
  EXPECT_EQ(responder_.receive({}, std::span(bytes_).first(15), out_), RcVerdict::malformed);
  expect_no_answer();
  EXPECT_EQ(only(6), RcVerdict::accepted);
}

TEST(Acknowledgements, on_the_wire_are_what_the_codec_reads) {
  const wire::Address from("10.0.0.2", 4791);
  AcknowledgementWriter writer(from, wire::Address("10.0.0.1", 50000), 0x123456);
  const auto bytes = writer.packet({0xFFFFFF, 0x60, 0xABCDEF});
  wire::Packet expected;
  expected.ipv4.emplace();
  expected.ipv4->source = {10, 0, 0, 2};
  expected.ipv4->destination = {10, 0, 0, 1};
  expected.udp = wire::UdpHeader{4791, 50000, {}, {}};
  expected.bth.opcode = *wire::opcode_of("RC_ACKNOWLEDGE");
  expected.bth.destination_qp = 0x123456;
  expected.bth.psn = 0xFFFFFF;
  expected.aeth = wire::AethHeader{0x60, 0xABCDEF};
  const auto coded = encode(expected);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), coded.begin() + 28, coded.end()));
  Acknowledgement read;
  ASSERT_TRUE(read_acknowledgement(wire::load_bth(bytes.data()), bytes, read));
  EXPECT_EQ(read, (Acknowledgement{0xFFFFFF, 0x60, 0xABCDEF}));
  EXPECT_FALSE(read_acknowledgement(wire::load_bth(bytes.data()), std::span(bytes).first(19), read));
}

TEST(Acknowledgements, the_timer_codes_are_those_of_the_specification) {
  EXPECT_EQ(rnr_wait_ns(0), 655'360'000);
  EXPECT_EQ(rnr_wait_ns(1), 10'000);
  EXPECT_EQ(rnr_wait_ns(12), 640'000);
  EXPECT_EQ(rnr_wait_ns(0x20 | 12), 640'000) << "the syndrome's upper bits are not part of the code";
  EXPECT_EQ(rnr_wait_ns(31), 491'520'000);
}

}  // namespace
}  // namespace rashpa::link::roce
