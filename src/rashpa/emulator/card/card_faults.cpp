// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/card_faults.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/link/fpga/packet_faults.hpp"
#include "rashpa/link/roce/faults/faults.hpp"
#include "rashpa/transfer/descriptor_generator.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::emulator {

namespace {

using card::registers::FaultKind;
using link::roce::Fault;

constexpr std::uint64_t kPsns = std::uint64_t{wire::kPsnMask} + 1;
struct Packet {
  std::uint32_t bytes = 0;
  wire::Opcode opcode = wire::write_only;
};

/// Returns the packets of one image, the event last.
std::vector<Packet> packets_of(const transfer::Dtp& dtp, const CardPacketShape& shape) {
  std::vector<Packet> all;
  transfer::DescriptorGenerator generator(dtp.region, shape.pitch_bytes, shape.pixel_bytes, dtp.placement,
                                          shape.packets.largest_message);
  const std::byte anywhere{};
  generator.begin(&anywhere, 0);
  std::array<link::BufferDescriptor, 64> batch;
  while (const std::size_t made = generator.next(batch)) {
    for (std::size_t i = 0; i < made; ++i) {
      const std::uint32_t bytes = batch[i].bytes;
      const std::uint32_t pmtu = shape.packets.pmtu;
      for (std::uint32_t at = 0; at < bytes; at += pmtu) {
        const bool first = at == 0, last = bytes - at <= pmtu;
        all.push_back({last ? bytes - at : pmtu, first && last ? wire::write_only
                                                 : first       ? wire::write_first
                                                 : last        ? wire::write_last
                                                               : wire::write_middle});
      }
    }
  }
  all.push_back({FrameRecord::kBytes, wire::write_only_imm});
  return all;
}

void check(const FaultPlan& plan, const transfer::Dtp& dtp, std::uint64_t packets) {
  if (plan.duplicate > 0 || plan.reorder > 0) {
    throw ConfigError(
        "emulator: a card drops and corrupts packets, it does not double or reorder them; use engine \"software\" for "
        "these faults");
  }
  if (dtp.images > kPsns / packets) {
    throw ConfigError(
        fmt::format("emulator: DTP {}: a card finds packets to be hit by their PSN, of which there are {}; {} images "
                    "have {} packets each: use fewer frames, or no faults",
                    dtp.id, kPsns, dtp.images, packets));
  }
}

}  // namespace

CardFaults draw_card_faults(const FaultPlan& plan, const transfer::Dtp& dtp, const CardPacketShape& shape) {
  CardFaults faults;
  if (!plan.packets() || dtp.images == 0) return faults;
  const std::vector<Packet> packets = packets_of(dtp, shape);
  check(plan, dtp, packets.size());
  link::roce::FaultDice dice({.seed = plan.seed, .drop = plan.drop, .corrupt = plan.corrupt}, dtp.id);
  link::roce::FateLog log(dtp.images, packets.size());
  std::uint64_t number = 0;
  for (std::uint64_t image = 0; image < dtp.images; ++image) {
    for (std::size_t i = 0; i < packets.size(); ++i, ++number) {
      const Packet& packet = packets[i];
      const bool event = i + 1 == packets.size();
      const auto psn = static_cast<std::uint32_t>((shape.first_psn + number) % kPsns);
      const Fault fault = dice.draw();
      if (event) log.lines_end(image, packets.size() - 1);
      if (fault == Fault::drop) {
        faults.all.push_back({image, psn, FaultKind::drop});
        continue;
      }
      if (fault == Fault::corrupt) {
        const std::uint32_t bit =
            link::fpga::draw_flip(dice, packet.opcode, packet.bytes, shape.ipv6, shape.icrc_checked);
        faults.all.push_back({image, psn, FaultKind::flip, bit});
        if (event || shape.icrc_checked) continue;  // refused, as if it had been dropped
        log.spoil();
      }
      if (event) {
        log.event_arrives(psn, image);
      } else {
        log.line_arrives(psn, i, packet.opcode == wire::write_only || packet.opcode == wire::write_first,
                         packet.opcode == wire::write_only || packet.opcode == wire::write_last);
      }
    }
  }
  for (std::uint64_t image = 0; image < dtp.images; ++image) faults.fates.push_back(log.fate(image));
  return faults;
}

void write_card_faults(card::Card& card, std::span<const std::span<const CardFault>> faults) {
  namespace registers = card::registers;
  using namespace registers::faults;
  std::size_t used = 0;
  for (const std::span<const CardFault> of_dtp : faults) used += of_dtp.size();
  const bool can =
      registers::identity::kCapabilitiesFaultInjection.get(card.read32(registers::identity::kCapabilities)) != 0;
  if (used > 0 && !can) {
    throw ConfigError("emulator: this card was made without faults, as one for a beamline is; use a simulated one");
  }
  if (used > kCount) {
    throw ConfigError(fmt::format(
        "emulator: {} faults in this run, a card has places for {}; use lower probabilities, fewer frames, or engine "
        "\"software\"",
        used, kCount));
  }
  if (!can) return;
  std::size_t next = 0;
  const auto put = [&](std::size_t place, const CardFault& fault) {
    card.write32(at(next) + kPacket, kPacketPsn.put(fault.psn) | kPacketDtp.put(static_cast<std::uint32_t>(place)));
    card.write32(at(next++) + kWhat,
                 kWhatKind.put(static_cast<std::uint32_t>(fault.kind)) | kWhatBitNumber.put(fault.bit));
  };
  for (std::size_t place = 0; place < faults.size(); ++place) {
    for (const CardFault& fault : faults[place]) put(place, fault);
  }
  while (next < kCount) put(0, {});
}

}  // namespace rashpa::emulator
