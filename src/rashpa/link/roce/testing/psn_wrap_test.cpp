// SPDX-License-Identifier: Apache-2.0
/// Messages whose sequence numbers pass 2^24, in both directions: the codec makes the packets that a receiver takes,
/// and reads those that a sender makes, bit for bit.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::link::roce {
namespace {

constexpr std::uint32_t kFirstPsn = 0xFFFFFD;
constexpr std::uint32_t kKey = 0xCAFE;
constexpr std::uint32_t kQpn = 100;
constexpr std::uint32_t kLine = 1030;  // five packets of 256, the last of six bytes

struct Case {
  const char* name;
  Transport transport;
  const char* prefix;
};

class PsnWrap : public ::testing::TestWithParam<Case> {
 protected:
  PsnWrap() : payload_(kLine), record_(FrameRecord::kBytes) {
    testing::fill(payload_, 5);
    options_ = {.transport = GetParam().transport,
                .pmtu = 256,
                .packetisation = ud() ? Packetisation::only : Packetisation::first_middle_last,
                .gso = false,
                .window_bytes = 1 << 20};
    dtp_ = testing::small_dtp(9, 4, 1, kLine, 2);
    FrameRecord record;
    record.dtp = 9;
    record.frame_number = dtp_.slice.frame(0);
    record.lines = 1;
    record.payload_bytes = kLine;
    record.payload_crc32c = crc32c(payload_);
    record.run = dtp_.run;
    rashpa::encode(record, std::span<std::byte, FrameRecord::kBytes>(record_.data(), FrameRecord::kBytes));
  }
  [[nodiscard]] static bool ud() { return GetParam().transport == Transport::ud; }
  [[nodiscard]] static bool rc() { return GetParam().transport == Transport::rc; }

  wire::Packet packet(const char* operation, std::uint32_t number, const wire::Address& from,
                      const wire::Address& to) const {
    wire::Packet made;
    made.ipv4.emplace();
    made.ipv4->source = made.ipv4->destination = {127, 0, 0, 1};
    made.udp = wire::UdpHeader{from.port(), to.port(), {}, {}};
    made.bth.opcode = *wire::opcode_of(GetParam().prefix + std::string(operation));
    made.bth.destination_qp = kQpn;
    made.bth.psn = (kFirstPsn + number) % (1U << 24);
    return made;
  }
  void header(wire::Packet& made, std::uint64_t offset, std::uint32_t bytes, std::uint16_t kind) const {
    if (!ud()) {
      made.reth = wire::RethHeader{offset, kKey, bytes};
      return;
    }
    made.deth = wire::DethHeader{kKey, 0, source_qpn_};
    for (int i = 0; i < 8; ++i) made.payload.push_back(static_cast<std::byte>(offset >> (8 * i)));
    for (int i = 0; i < 4; ++i) made.payload.push_back(static_cast<std::byte>(bytes >> (8 * i)));
    for (const unsigned value : {kind + 0U, 0U, 1U, 0U}) made.payload.push_back(static_cast<std::byte>(value));
  }
  /// The line and its event as the specification wants them.
  [[nodiscard]] std::vector<wire::Packet> expected(const wire::Address& from, const wire::Address& to) const {
    std::vector<wire::Packet> packets;
    const std::uint32_t cut = ud() ? 192 : 256;
    const std::uint64_t line = dtp_.placement.image_offset(0);
    for (std::uint32_t at = 0; at < kLine; at += cut) {
      const std::uint32_t bytes = std::min(cut, kLine - at);
      const bool last = at + bytes == kLine;
      const char* const operation = ud()      ? "_SEND_ONLY"
                                    : at == 0 ? "_RDMA_WRITE_FIRST"
                                    : last    ? "_RDMA_WRITE_LAST"
                                              : "_RDMA_WRITE_MIDDLE";
      wire::Packet made = packet(operation, static_cast<std::uint32_t>(packets.size()), from, to);
      if (ud() || at == 0) header(made, line + at, ud() ? bytes : kLine, 1);
      made.payload.insert(made.payload.end(), payload_.begin() + at, payload_.begin() + at + bytes);
      made.bth.ack_request = rc() && last ? 1 : 0;
      packets.push_back(made);
    }
    wire::Packet event = packet(ud() ? "_SEND_ONLY_WITH_IMMEDIATE" : "_RDMA_WRITE_ONLY_WITH_IMMEDIATE",
                                static_cast<std::uint32_t>(packets.size()), from, to);
    header(event, dtp_.placement.record_offset(0), FrameRecord::kBytes, 2);
    event.payload.insert(event.payload.end(), record_.begin(), record_.end());
    event.immediate = immediate_of(9, 0);
    event.bth.ack_request = rc() ? 1 : 0;
    packets.push_back(event);
    return packets;
  }

  std::vector<std::byte> payload_;
  std::vector<std::byte> record_;
  Options options_;
  ReceiverDtp dtp_;
  std::uint32_t source_qpn_ = 0;
};

class Keep final : public ArrivalOutput {
 public:
  [[nodiscard]] bool ready(std::uint32_t /*dtp*/) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    completeness = arrival.completeness;
    ++count;
    return true;
  }
  Completeness completeness = Completeness::open;
  int count = 0;
};

TEST_P(PsnWrap, what_the_codec_writes_is_taken) {
  const wire::Address from("127.0.0.1", 5000);
  const wire::Address to("127.0.0.1", 6000);
  std::vector<std::byte> region(testing::end_of(dtp_));
  PacketCounters counters;
  PacketDtp port(dtp_, 0, options_, kKey, region, NotFree::late, counters);
  if (rc()) port.rc()->connect(kFirstPsn);
  PacketHandler handler(options_, kQpn, {&port}, counters);
  Keep out;
  for (const wire::Packet& made : expected(from, to)) {
    std::vector<std::byte> bytes = encode(made);
    handler.handle({std::span(bytes).subspan(28), 0, &from, &to, 1}, out);
  }
  EXPECT_EQ(out.count, 1);
  EXPECT_EQ(out.completeness, Completeness::complete);
  EXPECT_TRUE(std::equal(payload_.begin(), payload_.end(),
                         region.begin() + static_cast<std::ptrdiff_t>(dtp_.placement.image_offset(0))));
  if (rc()) {
    EXPECT_EQ(port.rc()->take_acknowledgement(), (Acknowledgement{2, 0x1F, 2}));
  }
}

TEST_P(PsnWrap, what_the_sender_writes_is_what_the_codec_writes) {
  UdpSocket receiver(false);
  receiver.bind(wire::Address("127.0.0.1", 0));
  SenderConfig config;
  config.destination = {"127.0.0.1", receiver.local().port(), kQpn, kKey, 0};
  config.options = options_;
  config.flow = Flow::paced;
  config.first_psn = kFirstPsn;
  const auto sender_owner = make_sender(config);
  RoceSender& sender = *sender_owner;
  source_qpn_ = sender.endpoint().qpn;
  const BufferDescriptor write{payload_.data(), dtp_.placement.image_offset(0), kLine};
  ASSERT_EQ(sender.post({&write, 1}), 1U);
  ASSERT_TRUE(sender.post_event({record_.data(), dtp_.placement.record_offset(0), immediate_of(9, 0)}));
  sender.poll(0);
  const wire::Address from("127.0.0.1", sender.endpoint().port);
  for (const wire::Packet& made : expected(from, receiver.local())) {
    pollfd ready{receiver.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, 5000), 1);
    std::array<std::byte, 1024> bytes{};
    const auto size = recv(receiver.fd(), bytes.data(), bytes.size(), 0);
    ASSERT_GT(size, 0);
    const std::vector<std::byte> wanted = encode(made);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + size, wanted.begin() + 28, wanted.end()))
        << wire::opcode_name(made.bth.opcode) << " psn " << made.bth.psn;
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, PsnWrap,
                         ::testing::Values(Case{"uc", Transport::uc, "UC"}, Case{"rc", Transport::rc, "RC"},
                                           Case{"ud", Transport::ud, "UD"}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rashpa::link::roce
