// SPDX-License-Identifier: Apache-2.0
// Random DTPs, played by the RTL and by software: the same descriptors, and frames that are equal byte for byte.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <deque>

#include "../testing/bench.hpp"
#include "Vsender_core.h"
#include "rashpa/core/checksum.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/transfer/descriptor_generator.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/packet.hpp"

namespace rashpa::rtl {
namespace {

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

std::uint32_t times64(std::uint32_t value) { return (value + 63) / 64 * 64; }

Play random_play(Random& random, std::uint32_t id, std::uint64_t& memory_end) {
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

/// What software sends of a DTP, and of what descriptors.
struct Expected {
  std::vector<link::BufferDescriptor> descriptors;  // sources are offsets in card memory
  std::vector<Bytes> frames;
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
      event(index, memory_.subspan(slot, FrameRecord::kBytes), crc);
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
      send(std::move(packet));
    }
  }
  void event(std::uint64_t index, std::span<const std::byte> given, std::uint32_t crc) {
    const CardDtp& dtp = play_.dtp;
    FrameRecord record = decode_frame_record(given).value();
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
    wire::Packet packet;
    packet.bth.opcode = wire::write_only_imm;
    packet.reth = wire::RethHeader{dtp.base + dtp.placement.record_offset(index), play_.path.rkey, FrameRecord::kBytes};
    packet.immediate = immediate_of(dtp.id, index);
    packet.payload.assign(bytes.begin(), bytes.end());
    send(std::move(packet));
  }
  void send(wire::Packet packet) {
    const CardPath& path = play_.path;
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
    packet.bth.psn = psn_;
    psn_ = (psn_ + 1) & 0xFFFFFFU;
    expected_.frames.push_back(encode(packet));
  }

  const Play& play_;
  std::span<const std::byte> memory_;
  std::uint32_t psn_;
  Expected expected_;
};

/// Card memory behind AXI: answers in order, after a while, with pauses.
class Memory {
 public:
  Memory(std::span<const std::byte> bytes, Random& random) : bytes_(bytes), random_(random) {
    latency_ = random.chance(50) ? random(0, 10) : random(20, 200);
    stall_ = random.chance(50) ? 0 : random(1, 60);
  }
  /// Before an edge: what the memory shows.
  void show(Vsender_core& model, std::uint64_t cycle) {
    model.m_axi_arready = reads_.size() < 16 && !random_.chance(stall_ / 2);
    const bool ready = !reads_.empty() && cycle >= reads_.front().due && !random_.chance(stall_);
    model.m_axi_rvalid = ready;
    model.m_axi_rresp = 0;
    if (ready) {
      const Read& read = reads_.front();
      put(model.m_axi_rdata, bytes_.subspan(read.address, 64));
      model.m_axi_rlast = read.beats == 1;
    } else {
      for (int i = 0; i < 16; ++i) model.m_axi_rdata[i] = random_.word();
      model.m_axi_rlast = random_.chance(50);
    }
  }
  /// With everything settled, still before the edge: what is taken.
  void take(const Vsender_core& model, std::uint64_t cycle) {
    if (model.m_axi_rvalid) {
      Read& read = reads_.front();
      read.address += 64;
      if (--read.beats == 0) reads_.pop_front();
    }
    if (model.m_axi_arvalid && model.m_axi_arready) {
      const Read read{model.m_axi_araddr, model.m_axi_arlen + 1U,
                      cycle + latency_ + (latency_ ? random_(0, latency_) : 0)};
      check(read.address / 4096 == (read.address + 64 * read.beats - 1) / 4096, "a burst crosses 4 KiB at %llx",
            static_cast<unsigned long long>(read.address));
      check(read.address % 64 == 0 && read.address + 64 * read.beats <= bytes_.size(),
            "a burst outside of memory at %llx", static_cast<unsigned long long>(read.address));
      reads_.push_back(read);
    }
    if (asked_ && !accepted_) {
      check(model.m_axi_arvalid != 0 && model.m_axi_araddr == address_, "an address was taken back");
    }
    asked_ = model.m_axi_arvalid != 0;
    accepted_ = model.m_axi_arready != 0;
    address_ = model.m_axi_araddr;
  }

 private:
  struct Read {
    std::uint64_t address;
    std::uint32_t beats;
    std::uint64_t due;
  };
  std::span<const std::byte> bytes_;
  Random& random_;
  std::uint32_t latency_ = 0, stall_ = 0;
  std::deque<Read> reads_;
  bool asked_ = false, accepted_ = false;
  std::uint64_t address_ = 0;
};

/// One configuration, from Arm to the last frame.
class Run {
 public:
  Run(Clocked<Vsender_core>& core, Random& random) : core_(core), random_(random) {}

  void operator()(std::uint64_t number) {
    number_ = number;
    const std::uint32_t dtps = random_.chance(30) ? 16 : random_(1, 4);
    std::uint64_t end = random_(0, 5000);
    std::vector<Play> plays;
    for (std::uint32_t d = 0; d < dtps; ++d) plays.push_back(random_play(random_, random_(0, 15) * 16 + d, end));
    Bytes memory = random_.bytes((end + 4095) / 4096 * 4096 + 64);
    for (const Play& play : plays) {
      for (std::uint64_t f = 0; f < play.frames.frames; ++f) {
        const std::uint64_t at = play.frames.address + f * play.frames.stride;
        std::array<std::uint64_t, 6> user{};
        for (auto& word : user) word = random_.word();
        link::fpga::record_template(std::span<std::byte, FrameRecord::kBytes>(memory.data() + at, FrameRecord::kBytes),
                                    f, random_.word(), random_(0, 3), user);
      }
    }
    load(plays);
    std::vector<Expected> expected;
    for (const Play& play : plays) expected.push_back(Software(play, memory).all());
    play(plays, memory, expected);
  }

 private:
  void load(const std::vector<Play>& plays) {
    core_->arm_i = 1;
    core_.cycle();
    core_->arm_i = 0;
    for (std::uint32_t d = 0; d < 16; ++d) {
      const auto words = d < plays.size() ? words_of(plays[d].table) : words_of(card::registers::DtpTable{});
      for (std::uint32_t w = 0; w < words.size(); ++w) {
        core_->table_i = 1ULL << 43 | std::uint64_t{d} << 39 | std::uint64_t{w} << 32 | words[w];
        core_.cycle();
      }
    }
    core_->table_i = 0;
  }

  void play(const std::vector<Play>& plays, std::span<const std::byte> memory, const std::vector<Expected>& expected) {
    Memory card(memory, random_);
    const std::uint32_t slow = random_.chance(50) ? 0 : random_(1, 70);
    std::vector<std::size_t> sent(plays.size()), made(plays.size()), images(plays.size());
    std::size_t frames_left = 0;
    for (std::size_t d = 0; d < plays.size(); ++d) {
      core_->granted_i[d] = 0;
      core_->frames_i[d] = random_.chance(50) ? 1U << 30U : 0;
      frames_left += expected[d].frames.size();
    }
    core_->start_i = 1;
    Bytes frame;
    std::uint64_t quiet = 0;
    bool inside = false;
    for (std::uint64_t cycle = 0; frames_left > 0 && quiet < 20'000; ++cycle, ++quiet) {
      const std::uint32_t d = random_(0, static_cast<std::uint32_t>(plays.size()) - 1);
      if (core_->granted_i[d] < images[d] + plays[d].dtp.placement.slots && random_.chance(20)) ++core_->granted_i[d];
      if (core_->frames_i[d] < (1U << 30U) && random_.chance(30)) ++core_->frames_i[d];
      core_->m_axis_tready = !random_.chance(slow);
      card.show(*core_, cycle);
      core_->eval();
      card.take(*core_, cycle);
      if (core_->taken_o) descriptor(plays, expected, made, memory);
      if (inside) check(core_->m_axis_tvalid != 0, "a gap inside a frame");
      if (core_->m_axis_tvalid && core_->m_axis_tready) {
        inside = core_->m_axis_tlast == 0;
        const auto beat = bytes_of(core_->m_axis_tdata);
        const std::uint64_t keep = core_->m_axis_tkeep;
        const auto bytes = static_cast<std::size_t>(std::popcount(keep));
        check(keep == (bytes == 64 ? ~0ULL : (1ULL << bytes) - 1) && (bytes == 64 || !inside), "tkeep %llx",
              static_cast<unsigned long long>(keep));
        frame.insert(frame.end(), beat.begin(), beat.begin() + static_cast<std::ptrdiff_t>(bytes));
        if (!inside) {
          take(plays, expected, sent, images, frame);
          frame.clear();
          --frames_left;
          quiet = 0;
        }
      }
      core_.cycle();
      core_->start_i = 0;
    }
    check(frames_left == 0, "configuration %llu: %zu frames did not come", static_cast<unsigned long long>(number_),
          frames_left);
    for (int i = 0; i < 100; ++i) {
      card.show(*core_, 0);
      core_->m_axis_tready = 1;
      core_->eval();
      check(!core_->m_axis_tvalid, "a frame too many");
      core_.cycle();
    }
    check(core_->idle_o != 0, "not idle behind the run");
    for (std::size_t d = 0; d < plays.size(); ++d) {
      check(made[d] == expected[d].descriptors.size(), "DTP %zu made %zu of %zu descriptors", d, made[d],
            expected[d].descriptors.size());
    }
  }

  [[nodiscard]] std::uint64_t field(unsigned from, unsigned bits) const {
    std::uint64_t value = 0;
    for (unsigned b = 0; b < bits; ++b) {
      value |= std::uint64_t{(core_->descriptor_o[(from + b) / 32] >> ((from + b) % 32)) & 1U} << b;
    }
    return value;
  }

  void descriptor(const std::vector<Play>& plays, const std::vector<Expected>& expected, std::vector<std::size_t>& made,
                  std::span<const std::byte> memory) {
    const std::uint64_t d = field(308, 4);
    if (!check(d < plays.size(), "a descriptor of DTP %llu", static_cast<unsigned long long>(d))) return;
    if (field(307, 1) != 0) return;  // the event's is seen in its frame
    const std::size_t n = made[d]++;
    if (!check(n < expected[d].descriptors.size(), "a descriptor too many")) return;
    const link::BufferDescriptor& want = expected[d].descriptors[n];
    check(field(256, 48) == static_cast<std::uint64_t>(want.source - memory.data()) &&
              field(192, 64) == want.destination + plays[d].dtp.base && field(160, 32) == want.bytes,
          "configuration %llu, DTP %llu, descriptor %zu: %llx to %llx, %llu bytes",
          static_cast<unsigned long long>(number_), static_cast<unsigned long long>(d), n,
          static_cast<unsigned long long>(field(256, 48)), static_cast<unsigned long long>(field(192, 64)),
          static_cast<unsigned long long>(field(160, 32)));
  }

  // A frame is of the DTP whose next one it equals; when there is none, of the one with its UDP ports and queue pair.
  void take(const std::vector<Play>& plays, const std::vector<Expected>& expected, std::vector<std::size_t>& sent,
            std::vector<std::size_t>& images, const Bytes& frame) {
    for (std::size_t d = 0; d < plays.size(); ++d) {
      if (sent[d] < expected[d].frames.size() && expected[d].frames[sent[d]] == frame) {
        ++sent[d];
        const std::size_t bth = plays[d].path.ipv6 ? 62 : 42;
        if (frame[bth] == std::byte{wire::write_only_imm}) ++images[d];
        check(true, "");
        return;
      }
    }
    check(false, "configuration %llu: a frame of %zu bytes that software does not send",
          static_cast<unsigned long long>(number_), frame.size());
    if (checks().failed > 3) return;
    for (std::size_t d = 0; d < plays.size(); ++d) {
      if (sent[d] >= expected[d].frames.size()) continue;
      const Bytes& want = expected[d].frames[sent[d]];
      std::size_t differ = 0, at = 0;
      for (std::size_t i = std::min(want.size(), frame.size()); i-- > 0;) {
        if (want[i] != frame[i]) ++differ, at = i;
      }
      std::fprintf(stderr, "  DTP %zu, frame %zu: %zu bytes wanted, %zu differ from byte %zu on\n", d, sent[d],
                   want.size(), differ, at);
    }
  }

  Clocked<Vsender_core>& core_;
  Random& random_;
  std::uint64_t number_ = 0;
};

}  // namespace
}  // namespace rashpa::rtl

int main(int argc, char** argv) {
  using namespace rashpa::rtl;
  const std::uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 300;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  Clocked<Vsender_core> core(seed);
  core->abort_i = 0;
  core->start_i = 0;
  core->arm_i = 0;
  core->pushed_mode_i = 0;
  core->pushed_valid_i = 0;
  core->may_go_i = 0xFFFF;
  core->m_axi_rvalid = 0;
  core->m_axi_arready = 0;
  core->m_axis_tready = 0;
  core->fault_drop_i = 0;
  core->fault_flip_i = 0;
  core.reset();
  Random random(seed);
  Run run(core, random);
  for (std::uint64_t n = 0; n < runs && checks().failed < 10; ++n) run(n);
  return result(core.cycles());
}
