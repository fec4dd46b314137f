// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: the first byte chooses between the codec (decode → encode → decode gives the same packet) and the
/// receiving side without sockets (any datagram, with any segment size, with and without the ICRC check) of each
/// transport, the packets that a source takes back, and the requester of reliable connections.
#include <cstdlib>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/roce/credits/credits.hpp"
#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/roce/transports/rc_requester.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::link::roce {
namespace {

void check(bool ok) {
  if (!ok) std::abort();
}

void fuzz_codec(std::span<const std::byte> bytes, wire::Layer layer) {
  wire::Packet packet;
  try {
    packet = wire::decode(bytes, layer);
  } catch (const ConfigError&) {
    return;
  }
  const std::vector<std::byte> again = encode(packet);
  check(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  check(wire::decode(again, layer) == packet);
}

class Discard final : public ArrivalOutput {
 public:
  [[nodiscard]] bool ready(std::uint32_t) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    check(arrival.index == next_++);
    return true;
  }

 private:
  std::uint64_t next_ = 0;
};

// Most inputs would fail at the queue pair, the key or the sequence number: makes these right.
void repair(std::span<std::byte> datagram, Transport transport, std::uint32_t qpn, std::uint32_t psn) {
  if (datagram.size() < 40) return;
  wire::store_be<std::uint16_t>(&datagram[2], wire::kPkey);
  wire::store_be<std::uint32_t>(&datagram[4], qpn);
  datagram[1] &= std::byte{0x30};
  if (transport == Transport::ud) {
    datagram[0] = static_cast<std::byte>(0x64 + static_cast<unsigned>(datagram[0]) % 2);
    wire::store_be<std::uint32_t>(&datagram[12], 0);
    return;
  }
  const unsigned operation = static_cast<unsigned>(datagram[0]) % 6;
  datagram[0] = static_cast<std::byte>((transport == Transport::uc ? 0x26 : 0x06) + operation);
  wire::store_be<std::uint32_t>(&datagram[20], 0);
  wire::store_be<std::uint32_t>(&datagram[12], 0);
  wire::store_be<std::uint16_t>(&datagram[16], 0);
  if (transport == Transport::rc) {  // most come in order, some a little before or behind
    const unsigned shift = static_cast<unsigned>(datagram[11]) % 16;
    wire::store_be<std::uint32_t>(&datagram[8], ((psn + (shift < 4 ? shift : 0) - (shift == 4 ? 1 : 0)) & 0xFFFFFFU) |
                                                    (shift % 2 == 0 ? 0x80000000U : 0U));
  }
}

// `options`: bit 0 checks ICRCs, bit 1 first_middle_last, bit 2 contiguous lines, bit 3 paced. Packets follow, each
// behind its length.
void fuzz_receiver(std::span<const std::byte> bytes, unsigned options, Transport transport) {
  constexpr std::uint32_t kQpn = 16;
  Options link;
  link.transport = transport;
  link.pmtu = 256;
  link.icrc = (options & 1U) != 0 ? IcrcMode::modulo_id : IcrcMode::off;
  link.packetisation = (options & 2U) != 0 ? Packetisation::first_middle_last : Packetisation::only;
  link.records = (options & 16U) == 0;
  const ReceiverDtp dtp = testing::small_dtp(0, 8, 4, 384, 2, (options & 4U) != 0 ? 0 : 16);
  std::vector<std::byte> region(testing::end_of(dtp));
  PacketCounters counters;
  PacketDtp port(dtp, 0, link, 0, region, (options & 8U) != 0 ? NotFree::overrun : NotFree::late, counters);
  PacketHandler handler(link, kQpn, {&port}, counters);
  Discard out;
  const wire::Address from("127.0.0.1", 1);
  const wire::Address to("127.0.0.1", 2);
  std::int64_t now = 0;
  while (bytes.size() > 4) {
    const std::size_t size = std::min(bytes.size() - 4, static_cast<std::size_t>(bytes[0]) * 4);
    const auto segment = static_cast<std::size_t>(bytes[1]) * 4;
    if (bytes[2] == std::byte{1}) port.released = static_cast<std::uint64_t>(bytes[3]);
    if (bytes[2] == std::byte{2}) port.closed = static_cast<std::uint64_t>(bytes[3]);
    std::vector<std::byte> datagram(bytes.begin() + 4, bytes.begin() + 4 + static_cast<std::ptrdiff_t>(size));
    if (bytes[2] >= std::byte{128})
      repair(datagram, transport, kQpn, port.rc() != nullptr ? port.rc()->expected_psn() : 0);
    if (!datagram.empty()) handler.handle({datagram, segment, &from, &to, now += 1000}, out);
    handler.decide_touched(now, out);
    if (port.rc() != nullptr) {
      (void)port.rc()->take_nak();
      (void)port.rc()->take_acknowledgement();
    }
    bytes = bytes.subspan(4 + size);
  }
  port.closed = ~0ULL;
  handler.decide_all(now, out);
  handler.decide_all(now, out);
  check(port.assembly.finished());
}

// Packets of 4 … 64 bytes with a right ICRC, as a source finds them; each behind its length.
void fuzz_credits(std::span<const std::byte> bytes, Transport transport) {
  const wire::Address address("127.0.0.1", 1);
  constexpr std::uint32_t kQpn = 16;
  CreditReader reader({"127.0.0.1", 1, kQpn, 0, 0}, address, address, CreditReader::Port::same, Framing::v2, transport);
  CreditWriter writer(address, address, {"127.0.0.1", 1, kQpn, 0, 0}, Framing::v2, transport);
  wire::IcrcPath path(address, address);
  std::uint64_t images = 0;
  while (bytes.size() > 2) {
    const std::size_t size = std::min(bytes.size() - 1, 1 + static_cast<std::size_t>(bytes[0]) % 64);
    std::vector<std::byte> packet(bytes.begin() + 1, bytes.begin() + 1 + static_cast<std::ptrdiff_t>(size));
    bytes = bytes.subspan(1 + size);
    if (packet.size() >= wire::kBth + wire::kIcrc && (packet[4] & std::byte{1}) != std::byte{}) {
      wire::store_be<std::uint16_t>(&packet[2], wire::kPkey);
      wire::store_be<std::uint32_t>(&packet[4], kQpn);
      packet[1] &= std::byte{0x30};
      const std::size_t covered = packet.size() - wire::kIcrc;
      packet[4] = std::byte{0xFF};
      const std::uint32_t icrc = crc32(std::span(packet).first(covered), path.start(packet.size(), 0));
      packet[4] = std::byte{0};
      std::memcpy(packet.data() + covered, &icrc, sizeof icrc);
    }
    const auto taken = reader.take(packet, address);
    images = reader.words().images;
    if (taken == CreditReader::Taken::acknowledgement) writer.take(reader.acknowledgement());
    if (reader.take_answer()) check(transport == Transport::rc);
    if (!writer.unacknowledged()) check(!writer.packet({images, 0}).empty());
  }
}

// The requester between pushes and any answers: in the end each write was reported exactly once.
void fuzz_requester(std::span<const std::byte> bytes) {
  const auto first = static_cast<std::uint32_t>(0x1000000 - static_cast<unsigned>(bytes[0]));
  RcRequester requester(first, {.timeout = 1, .retries = 7, .rnr_retries = 3}, {});
  std::uint64_t pushed = 0;
  std::uint64_t done = 0;
  std::int64_t now = 1;
  const auto release = [&] {
    done += requester.release([](std::uint64_t) {});
    check(done <= pushed);
  };
  for (bytes = bytes.subspan(1); bytes.size() >= 4; bytes = bytes.subspan(4)) {
    const auto value = static_cast<std::uint32_t>(bytes[1]);
    switch (static_cast<unsigned>(bytes[0]) % 6) {
      case 0:
        for (std::uint32_t i = 0; i <= value % 16 && requester.room(); ++i, ++pushed) {
          requester.push(Outgoing{.bytes = value}, Ends::write);
        }
        break;
      case 1: {
        std::uint32_t left = value;
        while (left-- > 0 && requester.next(now).packet != nullptr) requester.handed_over();
        break;
      }
      case 2:
        requester.batch_empty();
        break;
      case 3:
        requester.take({(requester.next_psn() - value) & wire::kPsnMask, static_cast<std::uint8_t>(bytes[2]),
                        static_cast<std::uint32_t>(bytes[3])},
                       now);
        break;
      case 4:
        requester.take(
            {value << 16 | static_cast<std::uint32_t>(bytes[2]) << 8 | static_cast<std::uint32_t>(bytes[3]), 0x1F, 0},
            now);
        break;
      default:
        requester.tick(now += std::int64_t{value} * 1000);
        break;
    }
    release();
    check(requester.unacknowledged() <= RcRequester::kPackets);
  }
  requester.batch_empty();
  // Silence ends it: everything is reported, acknowledged or lost.
  for (int i = 0; i < 100 && requester.unacknowledged() != 0; ++i) {
    while (requester.next(now).packet != nullptr) requester.handed_over();
    requester.batch_empty();
    requester.tick(now);
    requester.tick(now += 1'000'000'000);
  }
  release();
  check(done == pushed);
}

}  // namespace
}  // namespace rashpa::link::roce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rashpa::link::roce;
  if (size < 2) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  switch (data[0] % 8U) {
    case 0:
      fuzz_codec(bytes, rashpa::wire::Layer::ethernet);
      break;
    case 1:
      fuzz_codec(bytes, rashpa::wire::Layer::ip);
      break;
    case 2:
      fuzz_codec(bytes, rashpa::wire::Layer::udp_payload);
      break;
    case 3:
      fuzz_credits(bytes, static_cast<rashpa::link::Transport>((data[0] >> 3) % 3));
      break;
    case 4:
      fuzz_requester(bytes);
      break;
    default:
      fuzz_receiver(bytes, data[0] >> 3, static_cast<rashpa::link::Transport>(data[0] % 8U - 5U));
      break;
  }
  return 0;
}
