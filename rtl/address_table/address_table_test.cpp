// SPDX-License-Identifier: Apache-2.0
// Random tables, as software writes them, and packets at the edges of their entries: the addresses of software, lock
// words behind records, and nothing behind one that lies in no entry.
#include <algorithm>
#include <array>
#include <deque>

#include "../testing/structs.hpp"
#include "../writer_core/host_memory.hpp"
#include "Vaddress_table.h"

namespace rashpa::rtl {
namespace {

struct Entry {
  std::uint64_t begin, end, address;
};
struct Wanted {
  std::uint32_t dtp, bytes, immediate;
  std::uint64_t offset, address;
  bool lock, inside;
};

class Bench {
 public:
  explicit Bench(std::uint64_t seed) : random_(seed), table_(seed) {}

  std::uint64_t play() {
    begin();
    for (std::uint32_t d = 0; d < 16; ++d) make(d);
    for (int run = 0; run < 6; ++run) arm_and_play(run % 2 == 0);
    return table_.cycles();
  }

 private:
  std::uint64_t any() { return (std::uint64_t{random_.word()} << 32U | random_.word()) >> random_(0, 32); }

  void begin() {
    table_->valid_i = table_->ready_i = table_->arm_i = 0;
    table_->addresses_i = 0;
    table_.reset();
  }

  void make(std::uint32_t dtp) {
    for (std::uint32_t e = 0; e < 4; ++e) {
      Entry& entry = entries_[dtp][e];
      const std::uint64_t begin = any();
      entry = {begin, begin + std::min<std::uint64_t>(random_(4, 20'000), ~begin), any()};
      if (random_.chance(10)) entry.end = entry.begin = 0;
      // The card's words lie behind one another.
      write_entry(*table_, dtp, e, entry.begin, entry.end, entry.address, [&] { table_.cycle(); });
    }
    locks_[dtp] = random_.chance(90) ? entries_[dtp][random_(0, 3)].begin : any();
    write_lock_offset(*table_, dtp, locks_[dtp], [&] { table_.cycle(); });
  }

  // Of software: the first entry that has all bytes.
  Wanted place(std::uint32_t dtp, std::uint64_t offset, std::uint32_t bytes, bool lock) const {
    Wanted wanted{dtp, bytes, 0, offset, 0, lock, false};
    for (const Entry& entry : entries_[dtp]) {
      if (offset < entry.begin || offset >= entry.end || entry.end - offset < bytes) continue;
      wanted.address = offset + (entry.address - entry.begin);
      wanted.inside = true;
      break;
    }
    return wanted;
  }

  void offer(bool only_inside) {
    const std::uint32_t dtp = random_(0, 15);
    const Entry& entry = entries_[dtp][random_(0, 3)];
    const bool record = random_.chance(30);
    const std::uint32_t bytes = record ? 128 : random_.chance(50) ? random_(1, 4096) : random_(1, 8);
    // at its begin, before it, at its end, over it, or anywhere
    const std::array<std::uint64_t, 6> offsets{entry.begin,           entry.begin - 1,     entry.end - bytes,
                                               entry.end - bytes + 1, entry.begin + bytes, any()};
    Wanted wanted = place(dtp, offsets[random_(0, 5)], bytes, false);
    const Wanted lock = place(dtp, locks_[dtp], 4, true);
    if (only_inside && !(wanted.inside && (!record || lock.inside))) return;
    for (int i = 0; i < 10; ++i) table_->packet_i[i] = random_.word();
    auto& packet = table_->packet_i;
    set(packet, packet::dtp, dtp);
    set(packet, packet::kind, static_cast<std::uint64_t>(record ? Kind::event : Kind::only));
    set(packet, packet::bytes, bytes);
    set(packet, packet::destination, wanted.offset);
    wanted.immediate = static_cast<std::uint32_t>(get(packet, packet::immediate));
    offered_ = {wanted};
    if (record) {
      offered_.push_back(lock);
      offered_.back().immediate = wanted.immediate;
    }
    table_->valid_i = 1;
  }

  void arm_and_play(bool only_inside) {
    table_->arm_i = 1;
    table_.cycle();
    table_->arm_i = 0;
    bool refused = false;
    std::uint32_t refusals = 0, errors = 0;
    const std::uint32_t ready = random_.chance(50) ? 100 : random_(20, 100);
    for (int cycle = 0, left = 400; left > 0 || !wanted_.empty() || cycle < 20; ++cycle) {
      if (!check(cycle < 100'000, "packets do not come out")) return;
      if (!table_->valid_i && left > 0 && random_.chance(80)) offer(only_inside);
      table_->ready_i = random_.chance(ready);
      table_->eval();
      if (table_->valid_o && check(!wanted_.empty(), "a packet too many") && table_->ready_i) {
        const Wanted& wanted = wanted_.front();
        refused |= !wanted.inside;
        refusals += !wanted.inside;
        compare(wanted, refused);
        wanted_.pop_front();
      }
      if (table_->idle_o) check(wanted_.empty(), "idle with a packet in hand");
      if (table_->valid_i && table_->ready_o) {
        for (const Wanted& wanted : offered_) {
          wanted_.push_back(wanted);
          errors_.push_back(wanted);
        }
        --left;
        table_.cycle();
        table_->valid_i = 0;
      } else {
        table_.cycle();
      }
      if (table_->error_o) {
        ++errors;
        while (!errors_.empty() && errors_.front().inside) errors_.pop_front();
        if (!check(!errors_.empty(), "an error that is none")) return;
        check(table_->error_dtp_o == errors_.front().dtp && table_->error_offset_o == errors_.front().offset,
              "an error of DTP %u at %llx", static_cast<unsigned>(table_->error_dtp_o),
              static_cast<unsigned long long>(table_->error_offset_o));
        errors_.pop_front();
      }
    }
    errors_.clear();
    check(errors == refusals && (errors != 0) != only_inside, "%u errors of %u", errors, refusals);
    check(table_->idle_o != 0, "not idle at the end");
  }

  void compare(const Wanted& wanted, bool refused) {
    const auto& packet = table_->packet_o;
    check((table_->withheld_o != 0) == refused, "withheld_o is %u", static_cast<unsigned>(table_->withheld_o));
    check((table_->lock_o != 0) == wanted.lock && get(packet, packet::dtp) == wanted.dtp &&
              get(packet, packet::bytes) == wanted.bytes && get(packet, packet::immediate) == wanted.immediate,
          "another packet than the one that came");
    if (wanted.lock) check(get(packet, packet::beats) == 0, "a lock word with beats from card memory");
    if (wanted.inside) {
      check(get(packet, packet::destination) == wanted.address, "offset %llx goes to %llx, not to %llx",
            static_cast<unsigned long long>(wanted.offset),
            static_cast<unsigned long long>(get(packet, packet::destination)),
            static_cast<unsigned long long>(wanted.address));
    }
  }

  Random random_;
  Clocked<Vaddress_table> table_;
  std::array<std::array<Entry, 4>, 16> entries_{};
  std::array<std::uint64_t, 16> locks_{};
  std::vector<Wanted> offered_;
  std::deque<Wanted> wanted_, errors_;
};

}  // namespace
}  // namespace rashpa::rtl

int main() {
  using namespace rashpa::rtl;
  std::uint64_t cycles = 0;
  for (std::uint64_t seed = 1; seed <= 30 && checks().failed < 10; ++seed) cycles += Bench(seed).play();
  return result(cycles);
}
