// SPDX-License-Identifier: Apache-2.0
// Random packets and lock words into a host that is late, pauses and refuses: every byte at its place with its value
// and no other, records completed, lock words when the host shows all before them, nothing behind a refusal.
#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "../testing/structs.hpp"
#include "../writer_core/host_memory.hpp"
#include "Vdma_writer.h"

namespace rashpa::rtl {
namespace {

using Host = HostMemory<Vdma_writer>;
using Bytes = std::vector<std::byte>;

/// A packet or a lock word, and what the host shall have of it.
struct Item {
  bool lock = false, event = false, complete = false, begins = false, withheld = false;
  std::uint32_t dtp = 0, lead = 0, bytes = 0, beats = 0, word = 0;  // word: factor, or immediate
  std::uint64_t address = 0;
  Bytes payload;  // as card memory has it, from its first beat on
  Bytes wanted;   // at the host
};

class Bench {
 public:
  explicit Bench(std::uint64_t seed) : random_(seed), writer_(seed), host_(random_, pick(0, 10, 400), pick(0, 0, 70)) {
    host_.taken = [this](const Host::Beat& beat) { taken(beat); };
    host_.written = [this](const Host::Beat& beat) { written(beat); };
  }
  ~Bench() { cycles() += writer_.cycles(); }
  static std::uint64_t& cycles() {
    static std::uint64_t all = 0;
    return all;
  }

  void play(std::uint64_t number) {
    trouble_ = number % 4;  // 1: the host refuses, 2: items are withheld, 3: all is withheld from some cycle on
    begin();
    make_items();
    if (trouble_ == 1) host_.refuses = random_(0, 40);
    std::uint64_t quiet = 0;
    const std::uint64_t close_at = trouble_ == 3 ? random_(20, 1500) : ~0ULL;
    for (std::uint64_t cycle = 0; quiet < 3000; ++cycle) {
      if (cycle == close_at) writer_->withhold_i = 1;
      if (cycle >= close_at) closed_from_ = std::min(closed_from_, cycle);
      if (step(cycle)) quiet = 0;
      ++quiet;
    }
    ended();
  }

 private:
  std::uint32_t pick(std::uint32_t often, std::uint32_t low, std::uint32_t high) {
    return random_.chance(50) ? often : random_(low, high);
  }

  void begin() {
    for (auto* input : {&writer_->valid_i, &writer_->lock_i, &writer_->withheld_i, &writer_->withhold_i,
                        &writer_->beat_i, &writer_->record_ready_i, &writer_->crc_busy_i, &writer_->m_axi_awready,
                        &writer_->m_axi_wready, &writer_->m_axi_bvalid, &writer_->arm_i}) {
      *input = 0;
    }
    writer_.reset();
    writer_->arm_i = 1;
    writer_.cycle();
    writer_->arm_i = 0;
    base_ = (std::uint64_t{random_.word()} << 32U | random_.word()) & 0x0FFF'FFFF'FFFF'FFFFULL;
    // so that the carry of a page's number goes through all of its bits
    if (random_.chance(30)) base_ |= 0x3F'FFFF'0000ULL;
  }

  void make_items() {
    std::uint64_t at = base_;
    const std::uint32_t images = random_(1, 12);
    const std::uint32_t most = random_.chance(50) ? 4096 : random_(1, 300);
    for (std::uint32_t i = 0; i < images; ++i) {
      const std::uint32_t dtp = random_(0, 15);
      const std::uint32_t lines = random_(0, 6);
      for (std::uint32_t l = 0; l < lines; ++l) {
        add({.begins = l == 0,
             .dtp = dtp,
             .lead = random_(0, 63),
             .bytes = random_.chance(30) ? most : random_(1, most)},
            at);
      }
      add({.event = true, .complete = random_.chance(70), .dtp = dtp, .bytes = 128}, at);
      at = (at + 3) / 4 * 4;
      add({.lock = true, .event = true, .dtp = dtp, .bytes = 4}, at);
    }
    if (trouble_ == 2) {
      const std::uint32_t first = random_(0, static_cast<std::uint32_t>(items_.size()) - 1);
      for (std::size_t i = first; i < items_.size(); ++i) items_[i].withheld = true;
    }
    for (std::size_t i = 0; i < items_.size(); ++i) places_[items_[i].address] = i;
    shown_.assign(items_.size(), 0);
  }

  void add(Item item, std::uint64_t& at) {
    at += random_.chance(50) ? 0 : random_(0, 200);
    if (item.lock) at = (at + 3) / 4 * 4;
    if (!item.lock && random_.chance(30)) at = (at + 8191) / 4096 * 4096 - random_(0, std::min(item.bytes, 4096U));
    item.address = at;
    item.word = random_.word();
    at += item.bytes;
    if (item.lock) {
      item.wanted.resize(4);
      std::memcpy(item.wanted.data(), &item.word, 4);
    } else {
      item.beats = (item.lead + item.bytes + 63) / 64;
      item.payload = random_.bytes(64ULL * item.beats);
      item.wanted.assign(item.payload.begin() + item.lead, item.payload.begin() + item.lead + item.bytes);
    }
    items_.push_back(std::move(item));
  }

  // The item that has the byte; the number of items when none has.
  std::size_t item_of(std::uint64_t at) const {
    auto place = places_.upper_bound(at);
    if (place == places_.begin()) return items_.size();
    const Item& item = items_[(--place)->second];
    return at - item.address < item.bytes ? place->second : items_.size();
  }

  void taken(const Host::Beat& beat) {
    std::uint32_t lock_bytes = 0;
    for (std::uint32_t lane = 0; lane < 64; ++lane) {
      if ((beat.strobe >> lane & 1U) == 0) continue;
      const std::size_t i = item_of(beat.address + lane);
      if (!check(i < items_.size() && !items_[i].withheld, "a byte that is none's, or withheld: %llx",
                 static_cast<unsigned long long>(beat.address + lane))) {
        return;
      }
      const Item& item = items_[i];
      check(item.wanted[beat.address + lane - item.address] == beat.data[lane], "item %zu: a wrong byte", i);
      if (!item.lock) continue;
      if (++lock_bytes == 1) {
        check(i > last_lock_ || last_lock_ == 0, "a lock word twice, or out of turn");
        last_lock_ = i;
        for (std::size_t before = 0; before < i; ++before) {
          check(items_[before].lock || shown_[before] == items_[before].bytes,
                "the lock word of item %zu, and the host does not show all of item %zu", i, before);
        }
      }
    }
    check(lock_bytes == 0 || (lock_bytes == 4 && (beat.strobe & (beat.strobe - 1)) != 0), "a lock word of %u bytes",
          lock_bytes);
  }
  void written(const Host::Beat& beat) {
    for (std::uint32_t lane = 0; lane < 64; ++lane) {
      if ((beat.strobe >> lane & 1U) == 0) continue;
      const std::size_t i = item_of(beat.address + lane);
      if (i < items_.size()) ++shown_[i];
    }
  }

  void offer() {
    const bool offers = next_ < items_.size() && random_.chance(70);
    writer_->valid_i = offers;
    for (int i = 0; i < 10; ++i) writer_->packet_i[i] = random_.word();
    writer_->lock_i = random_.chance(50);
    writer_->withheld_i = random_.chance(50);
    if (!offers) return;
    const Item& item = items_[next_];
    auto& packet = writer_->packet_i;
    set(packet, packet::dtp, item.dtp);
    set(packet, packet::kind, static_cast<std::uint64_t>(item.event ? Kind::event : Kind::only));
    set(packet, packet::complete_record, item.complete);
    set(packet, packet::begins_image, item.begins);
    set(packet, packet::lead, item.lead);
    set(packet, packet::bytes, item.bytes);
    set(packet, packet::beats, item.beats);
    set(packet, packet::destination, item.address);
    set(packet, item.lock ? packet::immediate : packet::factor, item.word);
    writer_->lock_i = item.lock;
    writer_->withheld_i = item.withheld;
  }

  // The payload FIFO: a beat comes in, and shows itself two cycles later.
  void feed(std::uint64_t cycle) {
    while (fed_item_ < items_.size() && fed_beat_ == items_[fed_item_].beats) {
      ++fed_item_;
      fed_beat_ = 0;
    }
    const bool comes = fed_item_ < items_.size() && fifo_.size() < 500 && random_.chance(feed_);
    writer_->beat_i = comes;
    if (comes) fifo_.push_back({fed_item_, fed_beat_++, cycle + 2});
    if (!fifo_.empty() && fifo_.front().due <= cycle) {
      const Fed& fed = fifo_.front();
      put(writer_->payload_i, std::span(items_[fed.item].payload).subspan(64ULL * fed.beat, 64));
    } else {
      for (int i = 0; i < 16; ++i) writer_->payload_i[i] = random_.word();
    }
  }

  // What record_builder and payload_crc say. The bits stay while the record's beats are taken.
  void complete() {
    writer_->crc_busy_i = random_.chance(20);
    if (!wanted_) return;
    if (++waited_ == 5) {
      writer_->record_ready_i = 1;
      for (int i = 0; i < 16; ++i) writer_->record_first_i[i] = random_.word();
      writer_->record_crc_i = random_.word();
    }
  }
  void completed() {
    const bool wanted = writer_->record_wanted_o;
    check(!wanted || !writer_->crc_busy_i, "a record is wanted before its CRC is there");
    if (!wanted && wanted_) writer_->record_ready_i = 0;
    if (!wanted) waited_ = 0;
    wanted_ = wanted;
  }

  bool step(std::uint64_t cycle) {
    offer();
    feed(cycle);
    complete();
    host_.show(*writer_, cycle);
    writer_->eval();
    if (writer_->begins_o || writer_->locks_o) began();
    check(cycle < closed_from_ || (!writer_->begins_o && !writer_->locks_o), "something begins behind a refusal");
    host_.take(*writer_, cycle);
    sum();
    if (writer_->error_o) refused(cycle);
    if (writer_->idle_o) check(host_.idle() || !host_.refused.empty(), "idle too early");
    const bool taken = writer_->valid_i && writer_->ready_o;
    const bool popped = writer_->payload_pop_o;
    if (popped && check(!fifo_.empty() && fifo_.front().due <= cycle, "an empty payload FIFO is popped")) {
      fifo_.pop_front();
    }
    writer_.cycle();
    completed();
    if (taken) ++next_;
    return taken || popped || !host_.idle();
  }

  // Packets begin in their order, lock words in theirs.
  void began() {
    const bool lock = writer_->locks_o;
    std::size_t& next = lock ? next_lock_ : next_packet_;
    while (next < items_.size() && (items_[next].lock != lock || items_[next].withheld)) ++next;
    if (!check(next < items_.size(), "one begins that is none")) return;
    Item& item = items_[next];
    check(writer_->begins_dtp_o == item.dtp, "item %zu begins as one of DTP %u", next,
          static_cast<unsigned>(writer_->begins_dtp_o));
    if (item.complete && !lock) {
      const auto first = bytes_of(writer_->record_first_i);
      const std::uint32_t crc = writer_->record_crc_i;
      for (std::size_t b = 0; b < 64; ++b) item.wanted[b] ^= first[b];
      for (std::size_t b = 0; b < 4; ++b) item.wanted[124 + b] ^= static_cast<std::byte>(crc >> (8 * b));
      check(writer_->record_ready_i != 0 && get(writer_->record_packet_o, packet::dtp) == item.dtp,
            "item %zu: a record begins that is not complete", next);
    }
    ++next;
    (lock ? locks_ : packets_) += 1;
  }

  void sum() {
    if (!writer_->sum_valid_o) return;
    const auto beat = bytes_of(writer_->sum_data_o);
    sum_.insert(sum_.end(), beat.begin(), beat.end());
    if (!writer_->sum_last_o) return;
    while (summed_ < items_.size() && items_[summed_].event) ++summed_;
    if (!check(summed_ < items_.size(), "a line too many is summed up")) return;
    const Item& item = items_[summed_++];
    Bytes want(item.address % 64);
    want.insert(want.end(), item.wanted.begin(), item.wanted.end());
    const std::size_t zeros = (64 - want.size() % 64) % 64;
    want.resize(want.size() + zeros);
    check(sum_ == want && writer_->sum_zeros_o == zeros && writer_->sum_dtp_o == item.dtp &&
              (writer_->sum_begins_o != 0) == item.begins && writer_->sum_factor_o == item.word,
          "item %zu is summed up wrongly", summed_ - 1);
    sum_.clear();
  }

  void refused(std::uint64_t cycle) {
    closed_from_ = std::min(closed_from_, cycle + 1);
    std::size_t owner = items_.size();
    for (std::uint32_t lane = 0; lane < 64 && !host_.refused.empty(); ++lane) {
      if (host_.refused[0].strobe >> lane & 1U) owner = item_of(host_.refused[0].address + lane);
    }
    if (check(owner < items_.size(), "an error that the host has not made")) {
      check(writer_->error_dtp_o == items_[owner].dtp, "an error of DTP %u, not of %u",
            static_cast<unsigned>(writer_->error_dtp_o), items_[owner].dtp);
    }
    errors_ += 1;
  }

  void ended() {
    check(next_ == items_.size() && fifo_.empty(), "%zu of %zu items were taken", next_, items_.size());
    check(writer_->idle_o != 0 && host_.idle(), "not idle at the end");
    check(errors_ == (host_.refuses < host_.bursts() ? 1U : 0U), "%u errors", errors_);
    const auto lines = std::ranges::count_if(items_, [](const Item& item) { return !item.event; });
    if (closed_from_ != ~0ULL) return;
    std::uint64_t packets = 0, locks = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      check(shown_[i] == (items_[i].withheld ? 0 : items_[i].bytes), "item %zu: %u bytes of %u", i, shown_[i],
            items_[i].bytes);
      if (!items_[i].withheld) (items_[i].lock ? locks : packets) += 1;
    }
    check(packets_ == packets && locks_ == locks, "%llu packets and %llu lock words begin",
          static_cast<unsigned long long>(packets_), static_cast<unsigned long long>(locks_));
    while (summed_ < items_.size() && items_[summed_].event) ++summed_;
    check(summed_ == items_.size() || lines == 0, "not all lines are summed up");
  }

  struct Fed {
    std::size_t item;
    std::uint32_t beat;
    std::uint64_t due;
  };
  Random random_;
  Clocked<Vdma_writer> writer_;
  Host host_;
  std::uint64_t trouble_ = 0, base_ = 0, closed_from_ = ~0ULL, packets_ = 0, locks_ = 0;
  std::vector<Item> items_;
  std::map<std::uint64_t, std::size_t> places_;
  std::vector<std::uint32_t> shown_;
  std::deque<Fed> fifo_;
  Bytes sum_;
  std::uint32_t feed_ = pick(100, 20, 100), waited_ = 0, errors_ = 0, fed_beat_ = 0;
  std::size_t next_ = 0, next_packet_ = 0, next_lock_ = 0, fed_item_ = 0, summed_ = 0, last_lock_ = 0;
  bool wanted_ = false;
};

// Packets as fast as they come, into a host that takes all: cycles of a packet of `bytes`.
double pace(std::uint32_t bytes) {
  Random random(3);
  Clocked<Vdma_writer> writer;
  writer->valid_i = writer->lock_i = writer->withheld_i = writer->withhold_i = writer->arm_i = writer->crc_busy_i = 0;
  writer->m_axi_awready = writer->m_axi_wready = 1;
  writer->m_axi_bvalid = writer->m_axi_bresp = writer->beat_i = 0;
  writer.reset();
  constexpr int kPackets = 200;
  const std::uint32_t beats = (bytes + 63) / 64;
  std::uint64_t cycles = 0, fed = 0, taken = 0, popped = 0, written = 0, answered = 0, address = 0;
  for (; written < kPackets && cycles < 100'000; ++cycles) {
    writer->beat_i = fed < std::uint64_t{kPackets} * beats && fed - popped < 400;
    fed += writer->beat_i;
    writer->valid_i = taken < kPackets;
    set(writer->packet_i, packet::bytes, bytes);
    set(writer->packet_i, packet::beats, beats);
    set(writer->packet_i, packet::destination, address);
    set(writer->packet_i, packet::lead, 0);
    set(writer->packet_i, packet::complete_record, 0);
    writer->m_axi_bvalid = answered < written;
    answered += writer->m_axi_bvalid;
    writer->eval();
    popped += writer->payload_pop_o;
    written += writer->m_axi_wvalid && writer->m_axi_wlast;
    if (writer->valid_i && writer->ready_o) {
      ++taken;
      address += beats * 64;
    }
    writer.cycle();
  }
  return static_cast<double>(cycles) / kPackets;
}

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa::rtl;
  for (std::uint64_t n = 0; n < 400 && checks().failed < 10; ++n) Bench(n + 1).play(n);
  check(pace(64) < 4.3, "a packet of 64 bytes takes more than four cycles");
  check(pace(4096) < 64.5, "a packet of 4096 bytes takes more than 64 cycles");
  return result(Bench::cycles());
}
