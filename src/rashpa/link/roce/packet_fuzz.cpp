/// libFuzzer: the first byte chooses between the codec (decode → encode → decode gives the same packet) and the
/// receiving side without sockets (any datagram, with any segment size, with and without the ICRC check).
#include <cstdlib>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/credits.hpp"
#include "rashpa/link/roce/packet.hpp"
#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/testing.hpp"

namespace rashpa::link::roce {
namespace {

void check(bool ok) {
  if (!ok) std::abort();
}

void fuzz_codec(std::span<const std::byte> bytes, Layer layer) {
  Packet packet;
  try {
    packet = decode(bytes, layer);
  } catch (const ConfigError&) {
    return;
  }
  const std::vector<std::byte> again = encode(packet);
  check(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  check(decode(again, layer) == packet);
}

class Discard final : public ArrivalOutput {
 public:
  bool emit(const Arrival& arrival) noexcept override {
    check(arrival.index == next_++);
    return true;
  }

 private:
  std::uint64_t next_ = 0;
};

// `options`: bit 0 checks ICRCs, bit 1 first_middle_last, bit 2 contiguous lines, bit 3 paced. Packets follow, each
// behind its length.
void fuzz_receiver(std::span<const std::byte> bytes, unsigned options) {
  constexpr std::uint32_t kQpn = 16;
  Options link;
  link.pmtu = 256;
  link.icrc = (options & 1U) != 0 ? IcrcMode::modulo_id : IcrcMode::off;
  link.packetisation = (options & 2U) != 0 ? Packetisation::first_middle_last : Packetisation::only;
  const DestinationDtp dtp = testing::small_dtp(0, 8, 4, 384, 2, (options & 4U) != 0 ? 0 : 16);
  std::vector<std::byte> region(testing::end_of(dtp));
  ReceiverCounters counters;
  DtpPort port(dtp, 0, link, 0, region, (options & 8U) != 0 ? NotFree::overrun : NotFree::late, counters);
  PacketHandler handler(link, kQpn, {&port}, counters);
  Discard out;
  const Address from("127.0.0.1", 1);
  const Address to("127.0.0.1", 2);
  std::int64_t now = 0;
  while (bytes.size() > 4) {
    const std::size_t size = std::min(bytes.size() - 4, static_cast<std::size_t>(bytes[0]) * 4);
    const auto segment = static_cast<std::size_t>(bytes[1]) * 4;
    if (bytes[2] == std::byte{1}) port.released = static_cast<std::uint64_t>(bytes[3]);
    if (bytes[2] == std::byte{2}) port.closed = static_cast<std::uint64_t>(bytes[3]);
    std::vector<std::byte> datagram(bytes.begin() + 4, bytes.begin() + 4 + static_cast<std::ptrdiff_t>(size));
    // Most inputs would fail at the queue pair or the key: half of them get through.
    if (bytes[2] >= std::byte{128} && datagram.size() >= 28) {
      wire::store_be<std::uint16_t>(&datagram[2], wire::kPkey);
      wire::store_be<std::uint32_t>(&datagram[4], kQpn);
      datagram[0] = static_cast<std::byte>(0x26 + static_cast<unsigned>(datagram[0]) % 6);
      datagram[1] &= std::byte{0x30};
      wire::store_be<std::uint32_t>(&datagram[20], 0);
      wire::store_be<std::uint32_t>(&datagram[12], 0);
      wire::store_be<std::uint16_t>(&datagram[16], 0);
    }
    if (!datagram.empty()) handler.handle({datagram, segment, &from, &to, now += 1000}, out);
    handler.decide_touched(now, out);
    bytes = bytes.subspan(4 + size);
  }
  port.closed = ~0ULL;
  handler.decide_all(now, out);
  handler.decide_all(now, out);
  check(port.assembly.finished());
}

void fuzz_credits(std::span<const std::byte> bytes) {
  const Address address("127.0.0.1", 1);
  CreditReader reader({"127.0.0.1", 1, 16, 0, 0}, address, address);
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  reader.take(copy, address);
}

}  // namespace
}  // namespace rashpa::link::roce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rashpa::link::roce;
  if (size < 2) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  switch (data[0] % 8U) {
    case 0:
      fuzz_codec(bytes, Layer::ethernet);
      break;
    case 1:
      fuzz_codec(bytes, Layer::ip);
      break;
    case 2:
      fuzz_codec(bytes, Layer::udp_payload);
      break;
    case 3:
      fuzz_credits(bytes);
      break;
    default:
      fuzz_receiver(bytes, data[0] >> 3);
      break;
  }
  return 0;
}
