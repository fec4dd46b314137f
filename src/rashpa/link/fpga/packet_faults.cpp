// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/fpga/packet_faults.hpp"

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/icrc.hpp"

namespace rashpa::link::fpga {

namespace {

using card::registers::FaultKind;

constexpr std::uint32_t kEthernet = 14, kIpv4 = 20, kIpv6 = 40, kUdp = 8;
constexpr std::uint32_t kBehindId = 14;  // of an IPv4 header

/// Returns true when a check of the ICRC that lets any identification pass finds bit `bit` of a payload flipped.
bool found(std::uint32_t headers, std::uint32_t bytes, std::uint32_t bit) {
  const std::uint32_t padded = bytes + wire::pad_of(bytes);
  std::vector<std::byte> behind(padded - bit / 8);  // from its byte to the ICRC
  const std::uint32_t right = crc32(behind);
  behind[0] = static_cast<std::byte>(1U << (bit % 8));
  return !wire::changed_id_bits(right ^ crc32(behind), kBehindId + kUdp + headers + padded);
}

}  // namespace

std::uint32_t draw_flip(roce::FaultDice& dice, std::uint8_t opcode, std::uint32_t bytes, bool ipv6, bool checked) {
  const auto headers = static_cast<std::uint32_t>(wire::header_bytes(opcode));
  std::uint32_t bit = dice.below(8 * bytes);
  while (checked && !ipv6 && !found(headers, bytes, bit)) bit = dice.below(8 * bytes);
  return 8 * (kEthernet + (ipv6 ? kIpv6 : kIpv4) + kUdp + headers) + bit;
}

PacketFaults::PacketFaults(const FaultConfig& config, std::uint32_t dtp, std::uint64_t images,
                           std::uint64_t payload_bytes, const PacketShape& shape)
    : dice_(config, dtp),
      log_(images, payload_bytes),  // no packet of a line is shorter than one byte
      shape_(shape),
      psn_(shape.first_psn) {
  if (config.duplicate > 0 || config.reorder > 0) {
    throw ConfigError(
        "fpga: a card drops and damages packets, it does not double or reorder them; set duplicate and reorder to 0, "
        "or use link roce on the source side");
  }
  if (images == 0 || payload_bytes == 0) {
    throw ConfigError(
        "fpga: fault injection has no images, or images without bytes; give the number of images and the bytes of one");
  }
  faults_.reserve(card::registers::faults::kCount);
}

bool PacketFaults::draw(std::uint8_t opcode, std::uint32_t bytes) {
  const roce::Fault fault = dice_.draw();
  const std::uint32_t psn = psn_;
  psn_ = (psn_ + 1) & wire::kPsnMask;
  if (fault == roce::Fault::drop) {
    dropped_.add(1);
    faults_.push_back({psn, FaultKind::drop});
  } else if (fault == roce::Fault::corrupt) {
    corrupted_.add(1);
    faults_.push_back({psn, FaultKind::flip, draw_flip(dice_, opcode, bytes, shape_.ipv6)});
  }
  return fault == roce::Fault::none;
}

std::span<const CardFault> PacketFaults::of_write(std::uint32_t bytes) {
  if (drawn_) return faults_;
  drawn_ = true;
  faults_.clear();
  for (std::uint32_t at = 0; at < bytes; at += shape_.pmtu) {
    const bool whole = shape_.packetisation == Packetisation::only;
    const bool first = whole || at == 0;
    const bool last = whole || bytes - at <= shape_.pmtu;
    const std::uint32_t psn = psn_;
    const std::uint8_t opcode = first && last ? wire::write_only
                                : first       ? wire::write_first
                                : last        ? wire::write_last
                                              : wire::write_middle;
    if (draw(opcode, std::min(shape_.pmtu, bytes - at))) log_.line_arrives(psn, lines_, first, last);
    ++lines_;
  }
  return faults_;
}

std::span<const CardFault> PacketFaults::of_event(std::uint64_t index) {
  if (drawn_) return faults_;
  drawn_ = true;
  faults_.clear();
  log_.lines_end(index, lines_);
  lines_ = 0;
  const std::uint32_t psn = psn_;
  if (draw(wire::write_only_imm, FrameRecord::kBytes)) log_.event_arrives(psn, index);
  return faults_;
}

}  // namespace rashpa::link::fpga
