// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: any input of a packet socket, from the frame to the buffer. The first byte chooses the framing; any bytes
/// follow.
#include <cstdlib>

#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/wire/frame_parser.hpp"

namespace rashpa::link::roce {
namespace {

void check(bool ok) {
  if (!ok) std::abort();
}

class Discard final : public ArrivalOutput {
 public:
  [[nodiscard]] bool ready(std::uint32_t) noexcept override { return true; }
  bool emit(const Arrival&) noexcept override { return true; }
};

// Each bit makes one thing right.
void repair(std::span<std::byte> bytes, Framing framing, unsigned what) {
  const std::size_t ethernet = framing == Framing::v1 ? 0 : sizeof(wire::VirtualHeader);
  if (bytes.size() < ethernet + 14 + 40 + 16) return;
  std::byte* const network = bytes.data() + ethernet + 14;
  const auto size = static_cast<std::uint16_t>(bytes.size() - ethernet - 14);
  if (framing == Framing::v1) {
    if ((what & 1U) != 0) wire::store_be<std::uint16_t>(network - 2, wire::kRoce1Ethertype);
    if ((what & 2U) != 0) network[0] = std::byte{0x60};
    if ((what & 4U) != 0) network[6] = std::byte{wire::kIbaNextHeader};
    if ((what & 8U) != 0) wire::store_be(network + 4, static_cast<std::uint16_t>((size - 40) / 4 * 4));
  } else {
    if ((what & 1U) != 0) wire::store_be<std::uint16_t>(network - 2, 0x0800);
    if ((what & 2U) != 0) network[0] = std::byte{0x45};
    if ((what & 4U) != 0) network[9] = std::byte{17};
    if ((what & 8U) != 0) wire::store_be(network + 2, size);
    if ((what & 16U) != 0) wire::store_be<std::uint16_t>(network + 6, 0x4000);
    if ((what & 32U) != 0) wire::store_be(network + 24, static_cast<std::uint16_t>(size - 20));
    if ((what & 64U) != 0) bytes[1] = std::byte{wire::VirtualHeader::plain};
  }
  // The queue pair's, version's and key's place behind the headers.
  std::byte* const bth = network + (framing == Framing::v1 ? 40 : 28);
  if ((what & 128U) == 0) return;
  bth[0] = static_cast<std::byte>(0x26 + static_cast<unsigned>(bth[0]) % 6);
  bth[1] &= std::byte{0x30};
  wire::store_be<std::uint16_t>(bth + 2, wire::kPkey);
  wire::store_be<std::uint32_t>(bth + 4, 16);
}

void fuzz_frame(std::span<std::byte> bytes, const Options& options) {
  wire::Frame frame;
  const bool v1 = options.framing == Framing::v1;
  if (!(v1 ? wire::parse_roce1_frame(bytes, frame) : wire::parse_udp4_frame(bytes, frame))) return;
  // The packets lie inside the bytes, whatever the headers say.
  check(frame.transport.data() >= bytes.data() && frame.transport.size() >= 16);
  check(frame.transport.data() + frame.transport.size() <= bytes.data() + bytes.size());
  check(frame.segment == 0 || frame.segment >= 16);
  constexpr std::uint32_t kQpn = 16;
  const ReceiverDtp dtp = testing::small_dtp(0, 8, 4, 384, 2);
  std::vector<std::byte> region(testing::end_of(dtp));
  PacketCounters counters;
  PacketDtp port(dtp, 0, options, 0, region, NotFree::late, counters);
  PacketHandler handler(options, kQpn, {&port}, counters);
  Discard out;
  handler.handle(
      {frame.transport, frame.segment, &frame.source, &frame.destination, 1, frame.identification, frame.congestion},
      out);
  Counts stats;
  counters.add_to(stats);
  const std::size_t segment = frame.segment == 0 ? frame.transport.size() : frame.segment;
  check(stats["packets"] == (frame.transport.size() + segment - 1) / segment);
  check(stats["icrc_modulo_id"] == 0);
}

}  // namespace
}  // namespace rashpa::link::roce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rashpa::link::roce;
  if (size < 3) return 0;
  Options options;
  options.pmtu = 256;
  options.framing = (data[0] & 1U) != 0 ? Framing::v1 : Framing::v2;
  options.icrc = (data[0] & 2U) != 0 ? IcrcMode::off : IcrcMode::full;
  std::vector<std::byte> bytes(size - 2);
  std::memcpy(bytes.data(), data + 2, bytes.size());
  repair(bytes, options.framing, data[1]);
  fuzz_frame(bytes, options);
  return 0;
}
