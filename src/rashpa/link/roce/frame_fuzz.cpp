/// libFuzzer: what a packet socket may give, from the frame to the buffer. The first byte chooses the framing; any
/// bytes follow.
#include <cstdlib>

#include "rashpa/link/roce/frame_parser.hpp"
#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/testing.hpp"

namespace rashpa::link::roce {
namespace {

void check(bool ok) {
  if (!ok) std::abort();
}

class Discard final : public ArrivalOutput {
 public:
  bool emit(const Arrival&) noexcept override { return true; }
};

void fuzz_frame(std::span<std::byte> bytes, const Options& options) {
  Frame frame;
  const bool v1 = options.framing == Framing::v1;
  if (!(v1 ? parse_roce1_frame(bytes, frame) : parse_udp4_frame(bytes, frame))) return;
  // The packets lie inside the bytes, whatever the headers say.
  check(frame.transport.data() >= bytes.data() && frame.transport.size() >= 16);
  check(frame.transport.data() + frame.transport.size() <= bytes.data() + bytes.size());
  check(frame.segment == 0 || frame.segment >= 16);
  constexpr std::uint32_t kQpn = 16;
  const DestinationDtp dtp = testing::small_dtp(0, 8, 4, 384, 2);
  std::vector<std::byte> region(testing::end_of(dtp));
  ReceiverCounters counters;
  DtpPort port(dtp, 0, options, 0, region, NotFree::late, counters);
  PacketHandler handler(options, kQpn, {&port}, counters);
  Discard out;
  handler.handle(
      {frame.transport, frame.segment, &frame.source, &frame.destination, 1, frame.identification, frame.congestion},
      out);
  ReceiverStats stats;
  counters.add_to(stats);
  const std::size_t segment = frame.segment == 0 ? frame.transport.size() : frame.segment;
  check(stats.packets == (frame.transport.size() + segment - 1) / segment);
  check(stats.icrc_modulo_id == 0);
}

}  // namespace
}  // namespace rashpa::link::roce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rashpa::link::roce;
  if (size < 2) return 0;
  Options options;
  options.pmtu = 256;
  options.framing = (data[0] & 1U) != 0 ? Framing::v1 : Framing::v2;
  options.icrc = (data[0] & 2U) != 0 ? IcrcMode::off : IcrcMode::full;
  std::vector<std::byte> bytes(size - 1);
  std::memcpy(bytes.data(), data + 1, bytes.size());
  fuzz_frame(bytes, options);
  return 0;
}
