// SPDX-License-Identifier: Apache-2.0
// Lists by themselves: photons of any density, beats with pauses and without, blocks that are asked for long before
// their beats or just in time, lists without room, memory that is late, pauses and refuses. What is written is what a
// list of the same photons is.
#include <Vunit_lists.h>

#include <algorithm>

#include "unit/memory_ports.hpp"

using namespace rashpa::rtl;

namespace {

constexpr std::size_t kLanes = 32, kEntries = 16, kBeatsOfPage = kBorder / kBeatBytes;
constexpr std::byte kUntouched{0x5A};
std::uint64_t all_cycles = 0, all_entries = 0, all_overflows = 0, all_refused = 0;

struct Photons {
  std::array<std::int16_t, kLanes> value{};
  std::uint32_t valid = 0;
};

/// What a trial has in common.
struct Shape {
  bool on = true;
  std::int16_t threshold = 0;
  std::uint32_t blocks = 1, last_beats = 64, images = 1, pages = 1;
  std::uint32_t permille = 500;  ///< of the pixels are listed, about
};

struct Block {
  std::uint32_t image = 0, number = 0;
  std::vector<Photons> beats;
};
using Stack = std::vector<Block>;

class Trial {
 public:
  Trial(std::uint64_t seed, const Shape& shape, const MemoryTimes& times, std::uint32_t pauses)
      : random_(seed),
        shape_(shape),
        times_(times),
        pauses_(pauses),
        memory_((std::size_t{2} * shape.images * shape.pages + 2) * kBorder, kUntouched),
        lists_(seed) {
    lists_->on_i = shape.on;
    lists_->threshold_i = static_cast<std::uint16_t>(shape.threshold);
    lists_->list_pages_i = shape.pages;
    lists_->push_i = lists_->beat_i = lists_->m_axi_list_bvalid = 0;
    lists_->m_axi_list_awready = lists_->m_axi_list_wready = 0;
    lists_.reset(8);
  }
  /// Memory refuses what goes there.
  void refuse(std::uint64_t page) { out_.bad_page = page; }

  void run(std::uint32_t stacks) {
    std::vector<Stack> made;
    for (std::uint32_t s = 0; s < stacks; ++s) made.push_back(make());
    std::size_t checked = 0, pushing = 0, pushed = 0, coming = 0, block = 0, beat = 0;
    std::uint64_t ahead = 0;  // blocks that are asked for and have not come
    for (std::uint64_t quiet = 0; checked < stacks && quiet < 100'000; ++quiet) {
      lists_->push_i = 0;
      lists_->beat_i = 0;
      if (pushing < stacks && pushing < checked + 2 && lists_->full_o == 0 && random_.chance(60)) {
        push(made[pushing][pushed], pushing, pushed + 1 == made[pushing].size());
        ahead += 1;
        if (++pushed == made[pushing].size()) pushed = 0, pushing += 1;
      }
      if (coming < stacks && ahead > 0 && room_ago() && !random_.chance(pauses_)) {
        const Block& of = made[coming][block];
        drive(of.beats[beat], beat + 1 == of.beats.size());
        quiet = 0;
        if (++beat == of.beats.size()) {
          beat = 0, ahead -= 1;
          if (++block == made[coming].size()) block = 0, coming += 1;
        }
      }
      const std::uint64_t before = done_;
      cycle();
      if (done_ == before) continue;
      quiet = 0;
      look_at(made[checked], checked % 2);
      checked += 1;
    }
    check(checked == stacks, "%zu of %u stacks are done", checked, stacks);
    lists_->push_i = lists_->beat_i = 0;
    for (int i = 0; i < 1500; ++i) cycle();  // beats without room are still thrown away
    check(done_ == stacks, "%llu stacks are done of %u", static_cast<unsigned long long>(done_), stacks);
    check(lists_->idle_o && out_.idle(), "not idle when all is done");
    check(refused_ == errors_, "%llu errors of %llu writes that memory refused",
          static_cast<unsigned long long>(errors_), static_cast<unsigned long long>(refused_));
    all_refused += refused_;
    all_cycles += lists_.cycles();
  }

 private:
  static constexpr std::size_t kRoomAgo = 34;  // cycles from room to the beat that has not seen it

  Stack make() {
    Stack stack;
    for (std::uint32_t number = 0; number < shape_.blocks; ++number) {
      for (std::uint32_t image = 0; image < shape_.images; ++image) {
        Block block{image, number, {}};
        block.beats.resize(number + 1 == shape_.blocks ? shape_.last_beats : 64);
        for (Photons& beat : block.beats) {
          // Beats with many, with few and with one number of them again and again.
          const std::uint32_t permille = random_.chance(30) ? shape_.permille : random_(0, 2 * shape_.permille);
          for (std::size_t i = 0; i < kLanes; ++i) {
            const bool listed = random_(0, 999) < permille;
            const bool valid = listed || random_.chance(80);
            const auto low = listed ? shape_.threshold : std::int16_t{-32768};
            const auto high = listed || !valid ? std::int16_t{32767} : std::max(shape_.threshold - 1, -32768);
            beat.value[i] =
                static_cast<std::int16_t>(low + static_cast<int>(random_(0, static_cast<std::uint32_t>(high - low))));
            if (random_.chance(20)) beat.value[i] = static_cast<std::int16_t>(random_.chance(50) ? low : high);
            beat.valid |= valid ? 1U << i : 0;
          }
        }
        stack.push_back(std::move(block));
      }
    }
    return stack;
  }
  [[nodiscard]] std::uint32_t page_of(std::uint64_t stack, std::uint32_t image) const {
    return static_cast<std::uint32_t>(1 + (stack % 2 * shape_.images + image) * shape_.pages);
  }
  /// list_block_t of unit_pkg.sv.
  void push(const Block& block, std::uint64_t stack, bool last) {
    lists_->push_i = 1;
    lists_->block_i = std::uint64_t{page_of(stack, 0) + block.image * shape_.pages} << 25U |
                      std::uint64_t{block.number} << 9U | (stack % 2) << 8U | std::uint64_t{block.image} << 2U |
                      (block.number == 0 ? 2U : 0U) | (last ? 1U : 0U);
  }
  void drive(const Photons& beat, bool last) {
    lists_->beat_i = 1;
    lists_->last_i = last;
    put(lists_->photons_i, std::as_bytes(std::span(beat.value)));
    lists_->valid_i = beat.valid;
  }
  bool room_ago() const { return rooms_[lists_.cycles() % kRoomAgo]; }
  void cycle() {
    rooms_[lists_.cycles() % kRoomAgo] = lists_->room_o != 0;
    out_.serve(times_, random_, lists_.cycles());
    refused_ += lists_->m_axi_list_bvalid && lists_->m_axi_list_bresp != 0;
    lists_.cycle();
    done_ += lists_->stack_done_o;
    errors_ += lists_->error_o;
  }

  void look_at(const Stack& stack, std::size_t parity) {
    for (std::uint32_t image = 0; image < shape_.images; ++image) {
      lists_->read_parity_i = static_cast<std::uint8_t>(parity);
      lists_->read_image_i = static_cast<std::uint8_t>(image);
      (*lists_).eval();
      const auto entries = static_cast<std::uint32_t>(lists_->read_o & 0xFFF'FFFF);
      const auto beats = static_cast<std::uint32_t>(lists_->read_o >> 28U);
      look_at(stack, image, memory_.data() + page_of(parity, image) * kBorder, entries, beats);
    }
  }
  void look_at(const Stack& stack, std::uint32_t image, std::byte* list, std::uint32_t entries, std::uint32_t beats) {
    const std::size_t room = shape_.pages * kBeatsOfPage;
    std::vector<std::array<std::uint16_t, 32>> expected;
    std::uint32_t wanted = 0, wanted_beats = 0;
    bool fits = true;
    for (const Block& block : stack) {
      if (block.image != image) continue;
      std::vector<std::array<std::uint16_t, 2>> kept;
      for (std::size_t p = 0; p < block.beats.size() * kLanes; ++p) {
        const Photons& beat = block.beats[p / kLanes];
        if (!shape_.on || (beat.valid >> p % kLanes & 1U) == 0 || beat.value[p % kLanes] < shape_.threshold) continue;
        kept.push_back({static_cast<std::uint16_t>(beat.value[p % kLanes]), static_cast<std::uint16_t>(p)});
      }
      wanted += static_cast<std::uint32_t>(kept.size());
      const std::size_t more = (kept.size() + kEntries - 1) / kEntries;
      fits &= wanted_beats + more <= room;
      wanted_beats += static_cast<std::uint32_t>(more);
      if (!fits) continue;
      for (std::size_t first = 0; first < kept.size(); first += kEntries) {
        const std::size_t count = std::min(kept.size() - first, kEntries);
        auto& words = expected.emplace_back();
        for (std::size_t i = 0; i < count; ++i) {
          words[i] = kept[first + i][0];
          words[kEntries + i] = kept[first + i][1];
        }
        for (std::size_t i = 0; i < 4; ++i) {
          words[kEntries + i] |= static_cast<std::uint16_t>((block.number >> 5U * i & 31U) << 11U);
        }
        words[kEntries + 4] |= static_cast<std::uint16_t>(count << 11U);
      }
    }
    check(entries == wanted && beats == wanted_beats, "image %u: %u entries in %u beats, not %u in %u", image, entries,
          beats, wanted, wanted_beats);
    bool good = true;
    for (std::size_t b = 0; b < expected.size(); ++b) {
      std::array<std::uint16_t, 32> words{};
      std::memcpy(words.data(), list + b * kBeatBytes, kBeatBytes);
      const std::size_t count = expected[b][kEntries + 4] >> 11U;
      for (std::size_t i = count; i < kEntries; ++i) {  // behind its entries a beat has anything
        words[i] = 0;
        words[kEntries + i] &= 0xF800U;
      }
      good &= words == expected[b];
    }
    check(good || out_.bad_page != ~std::uint64_t{0}, "image %u: its list is wrong", image);
    const std::span behind(list + expected.size() * kBeatBytes, list + shape_.pages * kBorder);
    check(std::ranges::all_of(behind, [](std::byte byte) { return byte == kUntouched; }),
          "image %u: something is written behind its list", image);
    std::fill(list, list + shape_.pages * kBorder, kUntouched);
    all_entries += entries;
    all_overflows += !fits;
  }

  Random random_;
  Shape shape_;
  MemoryTimes times_;
  std::uint32_t pauses_;
  std::vector<std::byte> memory_;
  Clocked<Vunit_lists> lists_;
  WritePort out_{
      {lists_->m_axi_list_awvalid, lists_->m_axi_list_awready, lists_->m_axi_list_awaddr, lists_->m_axi_list_awlen,
       lists_->m_axi_list_wvalid, lists_->m_axi_list_wready, lists_->m_axi_list_wdata, lists_->m_axi_list_wlast,
       lists_->m_axi_list_bvalid, lists_->m_axi_list_bresp},
      memory_};
  std::array<bool, kRoomAgo> rooms_{};
  std::uint64_t done_ = 0, errors_ = 0, refused_ = 0;
};

void any(std::uint64_t seed) {
  constexpr std::uint32_t kPermille[] = {0, 1, 30, 120, 500, 700, 1000};
  constexpr std::int16_t kThresholds[] = {1, 1, 10, 0, -1, -500, 32767, -32768};
  Random random(seed);
  Shape shape{random.chance(95),      kThresholds[random(0, 7)], random(1, 4), random(1, 64), random(1, 6), 0,
              kPermille[random(0, 6)]};
  shape.pages = random.chance(70) ? 2 * shape.blocks : random(1, 2 * shape.blocks);
  const MemoryTimes times{random(1, 8), random(8, 200), random.chance(40) ? 0 : random(1, 60), random(1, 16)};
  Trial trial(seed, shape, times, random.chance(50) ? 0 : random(1, 95));
  if (random.chance(15)) trial.refuse(random(1, 2 * shape.images * shape.pages));
  trial.run(random(1, 5));
}

}  // namespace

int main() {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) any(seed);
  // The most lists that there can be, of small blocks: more ends than anything else.
  for (const std::uint32_t beats : {1U, 3U}) {
    Trial(beats, {true, 1, 2, beats, 64, 3, 400}, {1, 4, 0, 16}, 0).run(4);
  }
  // More bursts than wait for a memory that takes them one by one, also in the middle of a block, at the end of a page.
  Trial(5, {true, 1, 30, 64, 4, 5, 50}, {20, 200, 95, 1}, 0).run(2);
  // Numbers of blocks to the last bit, and lists that are longer than 2^12 beats.
  Trial(9, {true, 1, 40, 64, 1, 80, 1000}, {1, 4, 0, 16}, 0).run(2);
  check(all_entries > 1'000'000 && all_overflows > 20 && all_refused > 5,
        "%llu entries, %llu lists without room, %llu refused", static_cast<unsigned long long>(all_entries),
        static_cast<unsigned long long>(all_overflows), static_cast<unsigned long long>(all_refused));
  return result(all_cycles);
}
