// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/transports/acknowledge.hpp"

#include <cstring>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::link::roce {

std::int64_t rnr_wait_ns(std::uint8_t code) noexcept {
  // Hundredths of a millisecond; code 0 is the longest.
  constexpr std::array<std::int64_t, 32> kTable{65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                                48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                                2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  constexpr std::int64_t kHundredthOfMs = 10'000;
  return kTable[code & syndrome::value] * kHundredthOfMs;
}

bool read_acknowledgement(const wire::Bth& bth, std::span<const std::byte> packet, Acknowledgement& out) noexcept {
  if (bth.opcode != wire::rc_acknowledge || bth.pad != 0 || packet.size() != AcknowledgementWriter::kPacket) {
    return false;
  }
  const wire::Aeth aeth = wire::load_aeth(packet.data() + wire::kBth);
  out = {bth.psn, aeth.syndrome, aeth.msn};
  return true;
}

AcknowledgementWriter::AcknowledgementWriter(const wire::Address& local, const wire::Address& to, std::uint32_t qpn,
                                             Framing framing)
    : to_(to), path_(local, to, framing), qpn_(qpn) {
  if (framing == Framing::v2) return;
  wire::FrameHeader(local, to, wire::FrameHeader::Ecn::none).write(packet_.data(), kPacket);
  front_ = wire::FrameHeader::kBytes;
}

std::span<const std::byte> AcknowledgementWriter::packet(const Acknowledgement& acknowledgement) noexcept {
  std::byte* const at = packet_.data() + front_;
  wire::store_bth(at, wire::rc_acknowledge, 0, qpn_, acknowledgement.psn);
  wire::store_aeth(at + wire::kBth, {acknowledgement.syndrome, acknowledgement.msn});
  constexpr std::size_t kCovered = kPacket - wire::kIcrc;
  at[4] = std::byte{0xFF};
  const std::uint32_t icrc = crc32({at, kCovered}, path_.start(kPacket, 0));
  at[4] = std::byte{0};
  std::memcpy(at + kCovered, &icrc, sizeof icrc);
  return std::span(packet_).first(front_ + kPacket);
}

}  // namespace rashpa::link::roce
