// SPDX-License-Identifier: Apache-2.0
/// Packets are made by the codec, the line header by hand.
#include "rashpa/link/roce/transports/ud_responder.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/wire/packet/packet.hpp"
#include "rashpa/wire/testing.hpp"

namespace rashpa::link::roce {
namespace {

constexpr std::uint32_t kPmtu = 256;
constexpr std::uint32_t kKey = 0x81234567;  // the highest bit is not part of a Q_Key
constexpr std::uint64_t kRegion = 4096;

struct Sent {
  std::uint32_t psn = 0;
  std::uint64_t offset = 0;
  std::uint32_t payload = 8;
  std::uint16_t kind = 1;
  std::uint16_t version = 1;
  std::int32_t longer = 0;  ///< bytes that the header claims beyond the real ones
  bool immediate = false;
  std::uint32_t qkey = 0x01234567;
};

class UdResponderTest : public ::testing::Test {
 protected:
  UdVerdict give(const Sent& sent) {
    wire::Packet packet;
    packet.bth.opcode = sent.immediate ? 0x65 : 0x64;
    packet.bth.psn = sent.psn & wire::kPsnMask;
    packet.deth = wire::DethHeader{sent.qkey, 0, 77};
    if (sent.immediate) packet.immediate = 0xAABBCCDD;
    const auto put = [&](std::uint64_t value, int bytes) {
      for (int i = 0; i < bytes; ++i) packet.payload.push_back(static_cast<std::byte>(value >> (8 * i)));
    };
    put(sent.offset, 8);
    put(sent.payload + static_cast<std::uint32_t>(sent.longer), 4);
    put(sent.kind, 2);
    put(sent.version, 2);
    packet.payload.resize(packet.payload.size() + sent.payload, std::byte{7});
    packet.icrc.value = 0;
    return give_bytes(encode(packet));
  }
  UdVerdict give_bytes(std::vector<std::byte> bytes) {
    bytes_ = std::move(bytes);
    out_ = {};
    return responder_.receive(wire::load_bth(bytes_.data()), bytes_, out_);
  }

  UdResponder responder_{kPmtu, kKey, kRegion};
  std::vector<std::byte> bytes_;
  AcceptedWrite out_;
};

TEST_F(UdResponderTest, once_connected_it_takes_datagrams_of_one_queue_pair_alone) {
  EXPECT_EQ(give({.psn = 5}), UdVerdict::accepted);
  responder_.connect(78);
  EXPECT_EQ(give({.psn = 900}), UdVerdict::stranger);
  EXPECT_EQ(responder_.gaps(), 0U) << "its sequence numbers say nothing";
  responder_.connect(77);
  EXPECT_EQ(give({.psn = 6}), UdVerdict::accepted);
}

TEST_F(UdResponderTest, a_line_goes_where_its_header_says) {
  EXPECT_EQ(give({.offset = 100, .payload = 9}), UdVerdict::accepted);
  EXPECT_EQ(out_.offset, 100U);
  EXPECT_EQ(out_.payload.size(), 9U);
  EXPECT_EQ(out_.payload[0], std::byte{7});
  EXPECT_EQ(out_.message_bytes, 9U);
  EXPECT_TRUE(out_.starts_message);
  EXPECT_FALSE(out_.has_immediate);
}

TEST_F(UdResponderTest, an_event_brings_a_record_and_its_immediate) {
  EXPECT_EQ(give({.payload = 128, .kind = 2, .immediate = true}), UdVerdict::accepted);
  EXPECT_TRUE(out_.has_immediate);
  EXPECT_EQ(out_.immediate, 0xAABBCCDDU);
}

TEST_F(UdResponderTest, gaps_are_counted_and_nothing_is_dropped_for_them) {
  EXPECT_EQ(give({.psn = 0xFFFFFF}), UdVerdict::accepted);
  EXPECT_EQ(give({.psn = 0}), UdVerdict::accepted);
  EXPECT_EQ(responder_.gaps(), 0U);
  EXPECT_EQ(give({.psn = 4}), UdVerdict::accepted);
  EXPECT_EQ(responder_.gaps(), 3U);
  EXPECT_EQ(give({.psn = 2}), UdVerdict::accepted) << "late";
  EXPECT_EQ(give({.psn = 4}), UdVerdict::accepted) << "twice";
  EXPECT_EQ(give({.psn = 5}), UdVerdict::accepted);
  EXPECT_EQ(responder_.gaps(), 3U);
}

TEST_F(UdResponderTest, the_qkey_is_checked_and_a_stranger_does_not_move_the_sequence) {
  EXPECT_EQ(give({.psn = 1}), UdVerdict::accepted);
  EXPECT_EQ(give({.psn = 900, .qkey = 0x01234566}), UdVerdict::refused);
  EXPECT_EQ(give({.psn = 900, .qkey = kKey}), UdVerdict::refused);
  EXPECT_EQ(give({.psn = 2}), UdVerdict::accepted);
  EXPECT_EQ(responder_.gaps(), 0U);
}

TEST_F(UdResponderTest, what_lies_outside_the_region_is_refused) {
  EXPECT_EQ(give({.offset = kRegion - 8}), UdVerdict::accepted);
  EXPECT_EQ(give({.offset = kRegion - 4}), UdVerdict::refused);
  EXPECT_EQ(give({.offset = ~0ULL - 3}), UdVerdict::refused);
}

TEST_F(UdResponderTest, a_header_that_is_not_ours_is_malformed) {
  EXPECT_EQ(give({.kind = 0}), UdVerdict::malformed);
  EXPECT_EQ(give({.kind = 2}), UdVerdict::malformed) << "a record comes with an immediate";
  EXPECT_EQ(give({.kind = 1, .immediate = true}), UdVerdict::malformed) << "and a line without";
  EXPECT_EQ(give({.kind = 3}), UdVerdict::malformed) << "credits go to sources";
  EXPECT_EQ(give({.version = 2}), UdVerdict::malformed);
  EXPECT_EQ(give({.longer = 1}), UdVerdict::malformed);
  EXPECT_EQ(give({.longer = -1}), UdVerdict::malformed);
  EXPECT_EQ(give({.payload = 0}), UdVerdict::malformed);
  EXPECT_EQ(give({.payload = kPmtu - 15}), UdVerdict::malformed) << "more than the path MTU";
  EXPECT_EQ(give({.payload = kPmtu - 16}), UdVerdict::accepted);
}

TEST_F(UdResponderTest, short_packets_and_other_operations_are_malformed) {
  ASSERT_EQ(give({.payload = 4}), UdVerdict::accepted);
  const std::vector<std::byte> whole = bytes_;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    if (size >= wire::kBth) {
      EXPECT_EQ(give_bytes({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), UdVerdict::malformed)
          << size;
    }
  }
  for (const unsigned opcode : {0x2AU, 0x0AU, 0x60U, 0x66U}) {
    std::vector<std::byte> other = whole;
    other[0] = static_cast<std::byte>(opcode);
    EXPECT_EQ(give_bytes(other), UdVerdict::malformed);
  }
}

TEST(UdOptions, leave_room_for_the_line_header_and_say_what_cannot_work) {
  Options options{.transport = Transport::ud, .pmtu = 4096};
  EXPECT_EQ(packet_payload(options), 4032U);
  Placement placement{.slot_bytes = 1 << 16, .slots = 2, .pitch = 4096, .line_bytes = 4096, .lines = 4};
  EXPECT_EQ(line_map_unit(placement, options), 64U) << "lines of 4096 are cut at 4032";
  placement.line_bytes = 2048;
  placement.pitch = 2048;
  EXPECT_EQ(line_map_unit(placement, options), 2048U) << "a line that fits is not cut";
  options.packetisation = Packetisation::first_middle_last;
  EXPECT_THROW(check(options), ConfigError);
}

// schema/line_header.md
TEST(UdResponder, golden_line_headers_are_taken_by_the_responder_of_ud) {
  int found = 0;
  for (const auto& record : wire::testing::read_golden("schema/golden/roce_packets.json")) {
    const bool line = record.at("name") == "UD line";
    if (!line && record.at("name") != "UD record") continue;
    ++found;
    const std::vector<std::byte> bytes = wire::testing::unhex(record.at("layer2"));
    const auto transport = std::span(bytes).subspan(14 + (line ? 28 : 48));
    UdResponder responder(256, 0xCAFE0001, 1 << 20);
    AcceptedWrite write;
    ASSERT_EQ(responder.receive(wire::load_bth(transport.data()), transport, write), UdVerdict::accepted);
    EXPECT_EQ(write.offset, line ? 0x12340U : 0x20000U);
    EXPECT_EQ(write.payload.size(), line ? 192U : 128U);
    EXPECT_EQ(write.payload[1], std::byte{10});
    EXPECT_EQ(write.has_immediate, !line);
    EXPECT_EQ(wire::header_bytes(static_cast<std::uint8_t>(transport[0])),
              static_cast<std::size_t>(write.payload.data() - transport.data()));
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace rashpa::link::roce
