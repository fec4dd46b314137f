// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Random DTPs, and what software makes of them: descriptors and frames.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../testing/bench.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/transfer/descriptor_generator.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::rtl {

using link::fpga::CardDtp;
using link::fpga::CardPackets;
using link::fpga::CardPath;
using link::fpga::FrameRing;
using Bytes = std::vector<std::byte>;

struct Play {
  CardDtp dtp;
  FrameRing frames;
  CardPackets packets;
  CardPath path;
  card::registers::DtpTable table;
};

inline std::uint32_t times64(std::uint32_t value) { return (value + 63) / 64 * 64; }

inline Play random_play(Random& random, std::uint32_t id, std::uint64_t& memory_end) {
  Play play;
  CardPackets& packets = play.packets;
  packets.pmtu = 256U << random(0, 4);
  packets.packetisation = random.chance(50) ? link::Packetisation::only : link::Packetisation::first_middle_last;
  const bool cut = packets.packetisation == link::Packetisation::first_middle_last;
  packets.largest_message = packets.pmtu * (cut ? random(1, 5) : 1);

  FrameRing& frames = play.frames;
  frames.pixel_bytes = 1U << random(0, 2);
  Region& region = play.dtp.region;
  const std::uint32_t width = random.chance(20) ? random(1, 40) : random(1, 6000) / frames.pixel_bytes + 1;
  region.width = width;
  region.height = random(1, random.chance(10) ? 40 : 6);
  const std::uint32_t extra = random.chance(50) ? 0 : random(0, 70);
  region.x = extra == 0 ? 0 : random(0, extra);
  region.y = random(0, 3);
  frames.pitch_bytes = std::uint64_t{width + extra} * frames.pixel_bytes;
  frames.frames = random(1, 4);
  frames.stride =
      times64(static_cast<std::uint32_t>(FrameRing::kPixels + frames.pitch_bytes * (region.y + region.height)));
  frames.address = (memory_end + 63) / 64 * 64;
  memory_end = frames.address + frames.stride * frames.frames;

  CardDtp& dtp = play.dtp;
  dtp.id = id;
  dtp.slice = {random(1, 5), random(0, 6)};
  dtp.images = random(1, 5);
  dtp.run = random.word();
  dtp.base = random.chance(30) ? (std::uint64_t{random.word()} << 16U) + random.word() : 0;
  Placement& to = dtp.placement;
  to.line_bytes = width * frames.pixel_bytes;
  to.lines = region.height;
  to.pitch = to.line_bytes + (random.chance(50) ? 0 : random(0, 5000));
  to.slots = random(1, 4);
  to.first_line_offset = random(0, 10000);
  to.slot_bytes = to.first_line_offset + to.pitch * to.lines + random(0, 1000);
  to.pixels_offset = (std::uint64_t{random(0, 3)} << 32U) + random.word();
  to.records_offset = (std::uint64_t{random(0, 3)} << 32U) + random.word();

  CardPath& path = play.path;
  path.ipv6 = random.chance(50);
  for (auto& b : path.source_mac) b = static_cast<std::uint8_t>(random.word());
  for (auto& b : path.destination_mac) b = static_cast<std::uint8_t>(random.word());
  for (std::size_t i = 0; i < (path.ipv6 ? 16 : 4); ++i) {
    path.source_ip[i] = static_cast<std::uint8_t>(random.word());
    path.destination_ip[i] = static_cast<std::uint8_t>(random.word());
  }
  path.source_port = static_cast<std::uint16_t>(random.word());
  path.destination_port = random.chance(70) ? 4791 : static_cast<std::uint16_t>(random.word());
  path.traffic_class = static_cast<std::uint8_t>(random.word());
  path.hop_limit = static_cast<std::uint8_t>(random.word());
  path.qpn = random.word() & 0xFFFFFFU;
  path.rkey = random.word();
  path.first_psn = random.chance(20) ? 0xFFFFFFU - random(0, 5) : random.word() & 0xFFFFFFU;

  set_transfer(play.table, dtp, frames, packets);
  set_path(play.table, path);
  play.table.dtp_paced = random.chance(50);
  return play;
}

/// `packet`, of which opcode, RETH, immediate and payload are set, as it goes out on `path`.
inline Bytes framed(const CardPath& path, wire::Packet packet, std::uint32_t psn) {
  packet.ethernet = wire::EthernetHeader{path.destination_mac, path.source_mac, {}};
  if (path.ipv6) {
    packet.ipv6 = wire::Ipv6Header{.traffic_class = path.traffic_class,
                                   .hop_limit = path.hop_limit,
                                   .source = path.source_ip,
                                   .destination = path.destination_ip};
  } else {
    packet.ipv4 = wire::Ipv4Header{.tos = path.traffic_class, .ttl = path.hop_limit};
    std::copy_n(path.source_ip.begin(), 4, packet.ipv4->source.begin());
    std::copy_n(path.destination_ip.begin(), 4, packet.ipv4->destination.begin());
  }
  packet.udp = wire::UdpHeader{.source_port = path.source_port, .destination_port = path.destination_port};
  packet.bth.destination_qp = path.qpn;
  packet.bth.psn = psn & 0xFFFFFFU;
  return encode(packet);
}

/// What software sends of a DTP, and of what descriptors.
struct Expected {
  std::vector<link::BufferDescriptor> descriptors;  // sources are offsets in card memory
  std::vector<Bytes> frames;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sources;  // of each frame: from where, how many bytes
  // Of each image: how many descriptors there are up to its end, and its record
  std::vector<std::size_t> ends;
  std::vector<std::array<std::byte, FrameRecord::kBytes>> records;
};

class Software {
 public:
  Software(const Play& play, std::span<const std::byte> memory)
      : play_(play), memory_(memory), psn_(play.path.first_psn) {}

  Expected all() {
    transfer::DescriptorGenerator generator(play_.dtp.region, play_.frames.pitch_bytes, play_.frames.pixel_bytes,
                                            play_.dtp.placement, play_.packets.largest_message);
    for (std::uint64_t index = 0; index < play_.dtp.images; ++index) {
      const std::uint64_t frame = play_.dtp.slice.frame(index);
      const std::uint64_t slot = play_.frames.address + frame % play_.frames.frames * play_.frames.stride;
      generator.begin(memory_.data() + slot + FrameRing::kPixels, index);
      std::array<link::BufferDescriptor, 7> batch{};
      std::uint32_t crc = 0;
      while (const std::size_t made = generator.next(batch)) {
        for (std::size_t i = 0; i < made; ++i) {
          crc = crc32c({batch[i].source, batch[i].bytes}, crc);
          expected_.descriptors.push_back(batch[i]);
          message(batch[i]);
        }
      }
      event(index, slot, crc);
    }
    return std::move(expected_);
  }

 private:
  void message(const link::BufferDescriptor& write) {
    const std::uint32_t mtu = play_.packets.pmtu;
    const std::uint64_t address = play_.dtp.base + write.destination;
    for (std::uint32_t at = 0; at < write.bytes; at += mtu) {
      const std::uint32_t bytes = std::min(mtu, write.bytes - at);
      const bool first = at == 0, last = at + bytes == write.bytes;
      wire::Packet packet;
      const bool only = play_.packets.packetisation == link::Packetisation::only || (first && last);
      packet.bth.opcode = only    ? wire::write_only
                          : first ? wire::write_first
                          : last  ? wire::write_last
                                  : wire::write_middle;
      if (only) packet.reth = wire::RethHeader{address + at, play_.path.rkey, bytes};
      if (!only && first) packet.reth = wire::RethHeader{address, play_.path.rkey, write.bytes};
      packet.payload.assign(write.source + at, write.source + at + bytes);
      send(std::move(packet), static_cast<std::uint64_t>(write.source + at - memory_.data()), bytes);
    }
  }
  void event(std::uint64_t index, std::uint64_t slot, std::uint32_t crc) {
    const CardDtp& dtp = play_.dtp;
    FrameRecord record = decode_frame_record(memory_.subspan(slot, FrameRecord::kBytes)).value();
    record.dtp = dtp.id;
    if (index + 1 == dtp.images) record.flags |= FrameRecord::last_of_run;
    record.index = index;
    record.slot = static_cast<std::uint32_t>(index % dtp.placement.slots);
    record.lines = dtp.placement.lines;
    record.payload_bytes = dtp.placement.payload_bytes();
    record.payload_crc32c = crc;
    record.run = dtp.run;
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    expected_.ends.push_back(expected_.descriptors.size());
    expected_.records.push_back(bytes);
    wire::Packet packet;
    packet.bth.opcode = wire::write_only_imm;
    packet.reth = wire::RethHeader{dtp.base + dtp.placement.record_offset(index), play_.path.rkey, FrameRecord::kBytes};
    packet.immediate = immediate_of(dtp.id, index);
    packet.payload.assign(bytes.begin(), bytes.end());
    send(std::move(packet), slot, FrameRecord::kBytes);
  }
  void send(wire::Packet packet, std::uint64_t source, std::uint64_t bytes) {
    expected_.frames.push_back(framed(play_.path, std::move(packet), psn_++));
    expected_.sources.emplace_back(source, bytes);
  }

  const Play& play_;
  std::span<const std::byte> memory_;
  std::uint32_t psn_;
  Expected expected_;
};

}  // namespace rashpa::rtl
