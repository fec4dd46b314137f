// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The receiving side without sockets, for tests. The codec makes the packets; it shares no code with the data path.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::link::roce {

inline constexpr std::uint32_t kQpn = 100;
inline constexpr std::uint32_t kKey = 0xCAFE;

class Handler : public ::testing::Test, public ArrivalOutput {
 protected:
  [[nodiscard]] bool ready(std::uint32_t /*dtp*/) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    arrivals.push_back(arrival);
    return true;
  }

  void make(NotFree not_free = NotFree::late, std::uint64_t images = 100,
            Packetisation packetisation = Packetisation::only) {
    options.pmtu = 256;
    options.packetisation = packetisation;
    dtp = testing::small_dtp(9, images, 4, 256, 3, 64);
    region.assign(testing::end_of(dtp) + 64, std::byte{0xEE});
    port = std::make_unique<PacketDtp>(dtp, 0, options, kKey, region, not_free, counters);
    handler = std::make_unique<PacketHandler>(options, kQpn, std::vector<PacketDtp*>{port.get()}, counters);
    source = std::make_unique<testing::Source>(dtp, nobody);
  }

  wire::Packet packet(std::uint8_t opcode, std::uint64_t address, std::span<const std::byte> payload) {
    wire::Packet made;
    made.ipv4.emplace();
    made.ipv4->source = made.ipv4->destination = {127, 0, 0, 1};
    made.udp = wire::UdpHeader{5000, 6000, {}, {}};
    made.bth.opcode = opcode;
    made.bth.destination_qp = kQpn;
    made.bth.psn = psn++;
    made.reth = wire::RethHeader{address, kKey, {}};
    made.payload.assign(payload.begin(), payload.end());
    return made;
  }
  void give_bytes(std::vector<std::byte> ip) {
    const wire::Address from("127.0.0.1", 5000);
    const wire::Address to("127.0.0.1", 6000);
    handler->handle({std::span(ip).subspan(28), 0, &from, &to, ++now}, *this);
    handler->decide_touched(now, *this);
  }
  void give(const wire::Packet& made) { give_bytes(encode(made)); }
  void line(std::uint64_t index, std::uint32_t number) {
    source->prepare(index);
    const Placement& p = dtp.placement;
    give(packet(0x2A, p.image_offset(index) + number * p.pitch, source->payload().subspan(number * 256UL, 256)));
  }
  wire::Packet event_packet(const FrameRecord& record) {
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    wire::Packet made = packet(0x2B, dtp.placement.record_offset(record.index), bytes);
    made.immediate = immediate_of(dtp.id, record.index);
    return made;
  }
  void event(std::uint64_t index) {
    source->prepare(index);
    give(event_packet(source->record(index)));
  }
  void image(std::uint64_t index) {
    for (std::uint32_t i = 0; i < 4; ++i) line(index, i);
    event(index);
  }
  Counts stats() const {
    Counts sum;
    counters.add_to(sum);
    return sum;
  }

  class Nobody final : public Sender {
   public:
    [[nodiscard]] Endpoint endpoint() const override { return {}; }
    std::size_t post(std::span<const BufferDescriptor>) override { return 0; }
    bool post_event(const Event&) override { return false; }
    std::size_t poll(std::uint32_t) override { return 0; }
    [[nodiscard]] std::size_t pending() const noexcept override { return 0; }
    [[nodiscard]] std::uint64_t granted() const noexcept override { return 0; }
    [[nodiscard]] std::uint32_t largest_message() const noexcept override { return 256; }
    [[nodiscard]] Counts stats() const override { return {}; }
  } nobody;

  Options options;
  ReceiverDtp dtp;
  std::vector<std::byte> region;
  PacketCounters counters;
  std::unique_ptr<PacketDtp> port;
  std::unique_ptr<PacketHandler> handler;
  std::unique_ptr<testing::Source> source;
  std::vector<Arrival> arrivals;
  std::uint32_t psn = 0;
  std::int64_t now = 1000;
};

}  // namespace rashpa::link::roce
