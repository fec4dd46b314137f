// SPDX-License-Identifier: Apache-2.0
// Random packets of random DTPs, their payload late or early, a MAC that takes beats as it likes: the frames are those
// that software encodes, without the ICRC; the payload comes out beside them for its sum; what is said for the
// counters.
#include <algorithm>
#include <deque>

#include "../sender/software.hpp"
#include "../testing/structs.hpp"
#include "../testing/table.hpp"
#include "Vpacketiser.h"

namespace rashpa::rtl {
namespace {

constexpr std::size_t kRoom = 512;  // beats, of both FIFOs
constexpr std::uint64_t kSilence = 5000;

struct Sent {  // a packet, and what becomes of it
  VlWide<10> packet{};
  std::uint32_t dtp = 0, psn = 0, factor = 0;
  bool withheld = false;
  bool event = false, completes = false, ends = false, begins_image = false, ipv6 = false;
  Bytes payload;
  std::size_t beats = 0;  // from memory
  wire::Packet wire;
  Bytes frame;                        // with zeros in the ICRC's place
  std::size_t header = 0, whole = 0;  // bytes
};

struct Conditions {
  std::uint32_t packets = 100;  // percent of the cycles in which one is there
  std::uint32_t payload = 100;  // … a beat of payload comes
  std::uint32_t mac = 100;      // … beats leave
  std::uint32_t crc_busy = 0;
};

class Bench {
 public:
  explicit Bench(std::uint64_t seed) : packetiser_(seed), random_(seed) {
    Vpacketiser& p = *packetiser_;
    p.withhold_i = p.arm_i = p.packet_valid_i = p.beat_i = p.record_ready_i = p.crc_busy_i = p.sent_i = 0;
    p.table_i = 0;
    packetiser_.reset();
  }

  void arm() {
    std::uint64_t end = 0;
    plays_.clear();
    packetiser_->arm_i = 1;
    cycle(false);
    packetiser_->arm_i = 0;
    for (std::uint32_t d = 0; d < 16; ++d) {
      plays_.push_back(random_play(random_, d, end));
      flow_[d] = random_.word() & 0xFFFFFU;
      plays_[d].table.flow_label = flow_[d];
      psn_[d] = plays_[d].path.first_psn;
      write_table(*packetiser_, d, plays_[d].table, [&] { cycle(false); });
    }
  }

  void play(std::uint32_t packets, const Conditions& conditions) {
    conditions_ = conditions;
    for (std::uint32_t n = 0; n < packets; ++n) waiting_.push_back(packet());
    quiet_ = 0;
    while ((!waiting_.empty() || !begun_.empty() || !popped_.empty() || !summed_.empty() || outstanding_ > 0) &&
           quiet_ < kSilence && checks().failed < 10) {
      cycle(true);
    }
    check(quiet_ < kSilence, "%zu packets and %zu frames did not come", waiting_.size() + begun_.size(),
          popped_.size());
    for (int i = 0; i < 4; ++i) cycle(false);
    check(packetiser_->idle_o != 0, "not idle");
    check(!packetiser_->waits_memory_o && !packetiser_->waits_wire_o, "it waits for nothing");
  }

  /// A packet without its payload: it waits for memory. Then one that has no room.
  void waits() {
    conditions_ = {100, 0, 100, 0};
    waiting_.push_back(packet());
    for (int i = 0; i < 20; ++i) cycle(true);
    check(packetiser_->waits_memory_o && !packetiser_->waits_wire_o, "it does not say that it waits for memory");
    play(0, {});
    conditions_ = {100, 100, 0, 0};
    for (int i = 0; i < 120; ++i) waiting_.push_back(packet());
    for (int i = 0; i < 3000; ++i) cycle(true);
    check(packetiser_->waits_wire_o && !packetiser_->waits_memory_o, "it does not say that it waits for the wire");
    check(!packetiser_->idle_o, "idle with frames in the FIFO");
    play(0, {});
  }

  [[nodiscard]] std::uint64_t cycles() const { return packetiser_.cycles(); }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

 private:
  Sent packet() {
    Sent made;
    const std::uint32_t d = made.dtp = random_(0, 15);
    const Play& play = plays_[d];
    const CardPath& path = play.path;
    const auto kind = static_cast<Kind>(random_(0, 4));
    made.event = kind == Kind::event;
    made.completes = made.event && random_.chance(70);
    made.ends = random_.chance(50);
    made.begins_image = random_.chance(30);
    made.factor = random_.word();
    const std::uint32_t most = random_.chance(50) ? 200 : 4096;
    const std::uint32_t bytes = made.event ? 128 : random_.chance(10) ? 4096 : random_(1, most);
    const std::uint32_t lead = made.completes ? 0 : random_(0, 63);
    const std::uint64_t address = std::uint64_t{random_.word()} << 32U | random_.word();
    const std::uint32_t length = random_.word(), immediate = random_.word();
    made.payload = random_.bytes(bytes);
    Bytes memory = random_.bytes(lead);
    memory.insert(memory.end(), made.payload.begin(), made.payload.end());
    while (memory.size() % 64 != 0) memory.push_back(static_cast<std::byte>(random_.word()));
    for (std::size_t at = 0; at < memory.size(); at += 64) {
      std::copy_n(memory.begin() + static_cast<std::ptrdiff_t>(at), 64, arriving_.emplace_back().begin());
    }
    made.beats = memory.size() / 64;
    set(made.packet, packet::dtp, d);
    set(made.packet, packet::kind, static_cast<std::uint64_t>(kind));
    set(made.packet, packet::complete_record, made.completes);
    set(made.packet, packet::begins_image, made.begins_image);
    set(made.packet, packet::ends_descriptor, made.ends);
    set(made.packet, packet::lead, lead);
    set(made.packet, packet::bytes, bytes);
    set(made.packet, packet::beats, made.beats);
    set(made.packet, packet::destination, address);
    set(made.packet, packet::length, length);
    set(made.packet, packet::immediate, immediate);
    set(made.packet, packet::factor, made.factor);

    wire::Packet& wire = made.wire;
    wire.ethernet = wire::EthernetHeader{path.destination_mac, path.source_mac, {}};
    made.ipv6 = path.ipv6;
    if (path.ipv6) {
      wire.ipv6 = wire::Ipv6Header{.traffic_class = path.traffic_class,
                                   .flow_label = flow_[d],
                                   .hop_limit = path.hop_limit,
                                   .source = path.source_ip,
                                   .destination = path.destination_ip};
    } else {
      wire.ipv4 = wire::Ipv4Header{.tos = path.traffic_class, .ttl = path.hop_limit};
      std::copy_n(path.source_ip.begin(), 4, wire.ipv4->source.begin());
      std::copy_n(path.destination_ip.begin(), 4, wire.ipv4->destination.begin());
    }
    wire.udp = wire::UdpHeader{.source_port = path.source_port, .destination_port = path.destination_port};
    constexpr std::array kOpcodes{wire::write_only, wire::write_first, wire::write_middle, wire::write_last,
                                  wire::write_only_imm};
    wire.bth.opcode = kOpcodes[static_cast<std::size_t>(kind)];
    wire.bth.destination_qp = path.qpn;
    wire.bth.psn = made.psn = psn_[d];
    psn_[d] = (psn_[d] + 1) & 0xFFFFFFU;
    if (kind == Kind::only || kind == Kind::first || made.event) {
      wire.reth = wire::RethHeader{address, path.rkey, length};
    }
    if (made.event) wire.immediate = immediate;
    return made;
  }

  void cycle(bool runs) {
    Vpacketiser& p = *packetiser_;
    const std::uint64_t now = packetiser_.cycles();
    shown_ = runs && !waiting_.empty() && (shown_ || random_.chance(conditions_.packets));  // until it is popped
    p.packet_valid_i = shown_;
    if (p.packet_valid_i) {
      p.packet_i = waiting_.front().packet;
    } else {
      for (int i = 0; i < 10; ++i) p.packet_i[i] = random_.word();
      p.packet_i[9] &= 0x1FU;
    }
    p.beat_i = runs && !arriving_.empty() && fifo_.size() < kRoom && random_.chance(conditions_.payload);
    const bool ready = !fifo_.empty() && fifo_.front().first + 2 <= now;
    put(p.payload_i, ready ? fifo_.front().second : bytes_of(noise()));
    p.crc_busy_i = random_.chance(conditions_.crc_busy);
    const bool leaves = outstanding_ > 0 && random_.chance(conditions_.mac);
    p.sent_i = leaves ? random_(1, outstanding_ > 1 ? 2 : 1) : 0;
    p.withhold_i = random_.chance(30);
    record();
    packetiser_->eval();

    ++quiet_;
    if (p.begins_o) begins();
    if (p.frame_o >> 9U)
      frame();
    else
      check(frame_.empty(), "a gap inside a frame");
    if (p.sum_valid_o) sum();
    if (p.payload_pop_o && check(ready, "a beat is popped that is not there")) fifo_.pop_front();
    outstanding_ -= p.sent_i;
    if (p.beat_i) {
      fifo_.emplace_back(now, arriving_.front());
      arriving_.pop_front();
    }
    if (p.packet_pop_o && check(shown_, "a packet is popped that is not there")) {
      begun_.push_back(waiting_.front());
      waiting_.pop_front();
      shown_ = false;
      quiet_ = 0;
    }
    packetiser_.cycle();
  }

  Beat noise() {
    Beat beat;
    for (int i = 0; i < 16; ++i) beat[i] = random_.word();
    return beat;
  }

  /// What completes a record is made while it is wanted, and stays until the next is.
  void record() {
    Vpacketiser& p = *packetiser_;
    p.eval();
    if (!p.record_wanted_o) {
      p.record_ready_i = 0;
      wanted_ = 0;
      return;
    }
    check(!begun_.empty() && begun_.front().completes && get(p.record_packet_o, packet::dtp) == begun_.front().dtp,
          "a record of another packet is wanted");
    check(summed_.empty() && popped_.empty(), "a record is wanted before all is summed up");
    check(!p.crc_busy_i, "a record is wanted before its sum is there");
    if (++wanted_ < 5 || p.record_ready_i) return;
    for (int i = 0; i < 16; ++i) p.record_first_i[i] = random_.word();
    p.record_crc_i = random_.word();
    p.record_ready_i = 1;
  }

  void begins() {
    const Vpacketiser& p = *packetiser_;
    if (!check(!begun_.empty(), "a frame of no packet begins")) return;
    Sent sent = std::move(begun_.front());
    begun_.pop_front();
    sent.withheld = p.withhold_i != 0;
    check(p.begins_dtp_o == sent.dtp && p.begins_event_o == sent.event && p.begins_ends_o == sent.ends &&
              p.begins_bytes_o == sent.payload.size(),
          "what is counted of a frame is not of its packet");
    if (sent.completes) {
      check(p.record_ready_i != 0, "an event begins without its record");
      const auto first = bytes_of(p.record_first_i);
      for (std::size_t i = 0; i < 64; ++i) sent.payload[i] ^= first[i];
      for (std::size_t i = 0; i < 4; ++i) sent.payload[124 + i] ^= static_cast<std::byte>(p.record_crc_i >> (8 * i));
    }
    sent.wire.payload = sent.payload;
    sent.frame = encode(sent.wire);
    sent.whole = sent.frame.size();
    sent.header = sent.whole - 4 - (sent.payload.size() + 3) / 4 * 4;
    std::fill(sent.frame.end() - 4, sent.frame.end(), std::byte{0});
    sent.frame.resize((sent.whole + 63) / 64 * 64);
    if (!sent.event) summed_.push_back(sent);
    popped_.push_back(std::move(sent));
    quiet_ = 0;
  }

  void frame() {
    const Vpacketiser& p = *packetiser_;
    if (!check(!popped_.empty(), "a frame too many")) return;
    const Sent& sent = popped_.front();
    const bool first = (p.frame_o >> 8U & 1U) != 0, last = (p.frame_o >> 7U & 1U) != 0;
    check(first == frame_.empty(), "`first` of beat %zu", frame_.size() / 64);
    check((p.frame_o >> 6U & 1U) == sent.ipv6 && p.frame_dtp_o == sent.dtp && p.frame_psn_o == sent.psn &&
              (p.frame_withheld_o != 0) == sent.withheld,
          "what is said of a frame");
    const auto beat = bytes_of(p.frame_data_o);
    frame_.insert(frame_.end(), beat.begin(), beat.end());
    ++outstanding_;
    check(outstanding_ <= kRoom, "more than the transmit FIFO holds");
    check(last == (frame_.size() >= sent.whole), "`last` of beat %zu", frame_.size() / 64);
    if (!last) return;
    check((p.frame_o & 63U) == (sent.whole - 4) % 64, "the ICRC's place");
    if (!check(frame_ == sent.frame, "frame %llu of DTP %u, opcode %02x, %zu bytes, is not software's",
               static_cast<unsigned long long>(frames_), sent.dtp, sent.wire.bth.opcode, sent.whole)) {
      const auto [got, wanted] = std::mismatch(frame_.begin(), frame_.end(), sent.frame.begin(), sent.frame.end());
      std::fprintf(stderr, "  from byte %td on\n", wanted - sent.frame.begin());
    }
    frame_.clear();
    popped_.pop_front();
    ++frames_;
  }

  void sum() {
    const Vpacketiser& p = *packetiser_;
    if (!check(!summed_.empty(), "payload of nothing is summed")) return;
    const Sent& sent = summed_.front();
    if (sum_.empty()) sum_.resize(sent.header / 64 * 64);
    const auto beat = bytes_of(p.sum_data_o);
    sum_.insert(sum_.end(), beat.begin(), beat.end());
    const std::size_t end = sent.header + sent.payload.size();
    check((p.sum_last_o != 0) == (sum_.size() >= end), "the last beat of a payload");
    if (sum_.size() < end) return;
    check(p.sum_zeros_o == sum_.size() - end && p.sum_dtp_o == sent.dtp && p.sum_begins_o == sent.begins_image &&
              p.sum_factor_o == sent.factor,
          "what is said of a payload");
    Bytes want(sent.header);
    want.insert(want.end(), sent.payload.begin(), sent.payload.end());
    want.resize(sum_.size());
    check(sum_ == want, "the payload that is summed is another");
    sum_.clear();
    summed_.pop_front();
  }

  Clocked<Vpacketiser> packetiser_;
  Random random_;
  Conditions conditions_;
  std::vector<Play> plays_;
  std::array<std::uint32_t, 16> flow_{}, psn_{};
  std::deque<Sent> waiting_, begun_, popped_, summed_;  // to be shown; in the header; frames; payload
  std::deque<std::array<std::byte, 64>> arriving_;
  std::deque<std::pair<std::uint64_t, std::array<std::byte, 64>>> fifo_;  // since when
  Bytes frame_, sum_;
  std::size_t outstanding_ = 0;  // beats in the transmit FIFO
  bool shown_ = false;           // the first packet
  int wanted_ = 0;
  std::uint64_t frames_ = 0, quiet_ = 0;
};

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa::rtl;
  Bench bench(1);
  for (int round = 0; round < 8 && checks().failed == 0; ++round) {
    bench.arm();
    bench.play(400, {});
    bench.play(200, {100, 100, 40, 0});
    bench.play(200, {60, 30, 100, 50});
    bench.play(200, {20, 100, 100, 20});
    bench.waits();
  }
  check(bench.frames() > 8000, "%llu frames", static_cast<unsigned long long>(bench.frames()));
  return result(bench.cycles());
}
