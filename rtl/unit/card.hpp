// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The unit with its memory, and a driver's view of it: registers by AXI-Lite, images and calibration in memory.
#include <Vunit.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "rashpa/card/unit_registers.hpp"
#include "unit/memory_ports.hpp"

namespace rashpa::rtl {

namespace registers = card::unit_registers;

constexpr std::size_t kBlockPixels = 2048;
constexpr std::size_t kBeatPixels = 32;
constexpr std::size_t kMemoryBytes = std::size_t{64} << 20U;  // for most
constexpr std::uint32_t kCalibrationPages = 6;                // of a block, of half of the lanes

/// Pedestal and factor; a pedestal that is NaN: not valid.
struct Entry {
  float pedestal = 0, factor = 0;
};

/// What becomes of a word: README.md of src/rashpa/kernel/jungfrau.
struct Converted {
  std::int16_t photons = 0;
  bool masked = false, saturated = false;
};
inline Converted converted(std::uint16_t word, const Entry& entry) {
  if (word >> 14 == 2 || word == 0xFFFF || word == 0x4000 || std::isnan(entry.pedestal)) return {-32768, true, false};
  if (word == 0xC000) return {32767, false, true};
  const volatile float difference = static_cast<float>(word & 0x3FFF) - entry.pedestal;
  const volatile float product = difference * entry.factor;
  const float value = std::clamp(std::nearbyint(static_cast<float>(product)), -32767.0F, 32766.0F);
  return {static_cast<std::int16_t>(value), false, false};
}

class Card {
 public:
  explicit Card(std::uint64_t seed, std::size_t memory_bytes = kMemoryBytes)
      : memory(memory_bytes), random(seed), unit_(seed) {
    unit_->s_axil_awvalid = unit_->s_axil_wvalid = unit_->s_axil_arvalid = 0;
    unit_->s_axil_wstrb = 15;
    unit_->s_axil_bready = unit_->s_axil_rready = 1;
    unit_->m_axi_raw_rvalid = unit_->m_axi_low_rvalid = unit_->m_axi_high_rvalid = unit_->m_axi_bvalid = 0;
    unit_->m_axi_raw_arready = unit_->m_axi_low_arready = unit_->m_axi_high_arready = 0;
    unit_->m_axi_awready = unit_->m_axi_wready = 0;
    unit_->m_axi_list_awready = unit_->m_axi_list_wready = unit_->m_axi_list_bvalid = 0;
    unit_.reset(8);
  }
  void cycle() {
    raw.serve(times, random, unit_.cycles());
    low.serve(times, random, unit_.cycles());
    high.serve(times, random, unit_.cycles());
    out.serve(times, random, unit_.cycles());
    lists.serve(times, random, unit_.cycles());
    unit_.cycle();
    interrupts += unit_->interrupt_o;
  }
  bool write(std::uint32_t address, std::uint32_t value) {
    unit_->s_axil_awaddr = static_cast<std::uint16_t>(address);
    unit_->s_axil_wdata = value;
    unit_->s_axil_awvalid = unit_->s_axil_wvalid = 1;
    for (;;) {
      const bool address_taken = unit_->s_axil_awvalid && unit_->s_axil_awready;
      const bool data_taken = unit_->s_axil_wvalid && unit_->s_axil_wready;
      const bool answered = unit_->s_axil_bvalid != 0;
      const std::uint32_t answer = unit_->s_axil_bresp;
      cycle();
      if (address_taken) unit_->s_axil_awvalid = 0;
      if (data_taken) unit_->s_axil_wvalid = 0;
      if (answered) return answer == 0;
    }
  }
  bool read(std::uint32_t address, std::uint32_t& value) {
    unit_->s_axil_araddr = static_cast<std::uint16_t>(address);
    unit_->s_axil_arvalid = 1;
    for (;;) {
      const bool taken = unit_->s_axil_arvalid && unit_->s_axil_arready;
      const bool answered = unit_->s_axil_rvalid != 0;
      const std::uint32_t answer = unit_->s_axil_rresp;
      value = unit_->s_axil_rdata;
      cycle();
      if (taken) unit_->s_axil_arvalid = 0;
      if (answered) return answer == 0;
    }
  }
  std::uint32_t read(std::uint32_t address) {
    std::uint32_t value = 0;
    check(read(address, value), "the card refuses to read %x", address);
    return value;
  }
  std::uint64_t read64(std::uint32_t address) { return read(address) | std::uint64_t{read(address + 4)} << 32U; }
  [[nodiscard]] std::uint64_t cycles() const { return unit_.cycles(); }
  [[nodiscard]] bool idle() const { return raw.idle() && low.idle() && high.idle() && out.idle() && lists.idle(); }

  std::vector<std::byte> memory;
  Random random;
  MemoryTimes times{};
  std::uint64_t interrupts = 0;

 private:
  Clocked<Vunit> unit_;

 public:
  ReadPort raw{{unit_->m_axi_raw_arvalid, unit_->m_axi_raw_arready, unit_->m_axi_raw_araddr, unit_->m_axi_raw_arlen,
                unit_->m_axi_raw_rvalid, unit_->m_axi_raw_rdata, unit_->m_axi_raw_rresp, &unit_->m_axi_raw_rlast},
               memory};
  ReadPort low{{unit_->m_axi_low_arvalid, unit_->m_axi_low_arready, unit_->m_axi_low_araddr, unit_->m_axi_low_arlen,
                unit_->m_axi_low_rvalid, unit_->m_axi_low_rdata, unit_->m_axi_low_rresp},
               memory};
  ReadPort high{{unit_->m_axi_high_arvalid, unit_->m_axi_high_arready, unit_->m_axi_high_araddr,
                 unit_->m_axi_high_arlen, unit_->m_axi_high_rvalid, unit_->m_axi_high_rdata, unit_->m_axi_high_rresp},
                memory};
  WritePort out{
      {unit_->m_axi_awvalid, unit_->m_axi_awready, unit_->m_axi_awaddr, unit_->m_axi_awlen, unit_->m_axi_wvalid,
       unit_->m_axi_wready, unit_->m_axi_wdata, unit_->m_axi_wlast, unit_->m_axi_bvalid, unit_->m_axi_bresp},
      memory};
  WritePort lists{{unit_->m_axi_list_awvalid, unit_->m_axi_list_awready, unit_->m_axi_list_awaddr,
                   unit_->m_axi_list_awlen, unit_->m_axi_list_wvalid, unit_->m_axi_list_wready, unit_->m_axi_list_wdata,
                   unit_->m_axi_list_wlast, unit_->m_axi_list_bvalid, unit_->m_axi_list_bresp},
                  memory};
};

/// Images of one shape with their calibration, and stacks of them at places in memory.
class Job {
 public:
  struct Stack {
    std::uint32_t raw_page, photons_page, results_page, images, lists_page;
  };
  /// Lists of pixels: from how many photons on, and the room of each.
  struct Lists {
    bool on = false;
    std::int16_t threshold = 0;
    std::uint32_t pages = 0;
  };

  Job(Card& card, std::size_t pixels) : card_(card), pixels_(pixels) {
    blocks_ = static_cast<std::uint32_t>((pixels + kBlockPixels - 1) / kBlockPixels);
    // Images may be farther apart than they are long.
    image_pages_ = blocks_ + (card.random.chance(30) ? card.random(1, 3) : 0);
    low_page_ = take(kCalibrationPages * blocks_);
    high_page_ = take(kCalibrationPages * blocks_);
    calibrate();
  }
  void set_up() {
    const std::size_t in_last = pixels_ - (blocks_ - 1) * kBlockPixels;
    const auto beats = static_cast<std::uint32_t>((in_last + kBeatPixels - 1) / kBeatPixels);
    const auto lanes = static_cast<std::uint32_t>(in_last - (beats - 1) * kBeatPixels);
    namespace settings = registers::settings;
    bool good = card_.write(settings::kBlocks, blocks_);
    good &= card_.write(settings::kLast, beats - 1);
    good &= card_.write(settings::kLastLanes, lanes == 32 ? ~0U : (1U << lanes) - 1);
    good &= card_.write(settings::kImagePages, image_pages_);
    good &= card_.write(settings::kCalibrationLow, low_page_);
    good &= card_.write(settings::kCalibrationHigh, high_page_);
    good &= card_.write(settings::kBright, static_cast<std::uint16_t>(bright_));
    good &= card_.write(settings::kList, settings::kListThreshold.put(static_cast<std::uint16_t>(lists.threshold)) |
                                             settings::kListOn.put(lists.on ? 1 : 0));
    good &= card_.write(settings::kListPages, lists.pages);
    check(good, "settings are refused");
    posted_ = card_.read(registers::doorbells::kStacksPosted);
  }
  /// A stack with images, and nothing where its results go.
  Stack make(std::uint32_t images) {
    Stack stack{take(images * image_pages_), take(images * image_pages_), take(1), images, take(images * lists.pages)};
    // Behind the lists nothing may be written.
    if (lists.on) {
      const std::uint32_t behind = take(1);
      std::memset(at(stack.lists_page), kUntouched, std::size_t{behind + 1 - stack.lists_page} * kBorder);
    }
    for (std::uint32_t i = 0; i < images; ++i) {
      auto* const words = raw(stack, i);
      for (std::size_t p = 0; p < pixels_; ++p) words[p] = word();
    }
    return stack;
  }
  /// Of `permille` of all pixels a list's entries: the words are those of one calibration, which shows itself in
  /// photons.
  void make_sparse(const Stack& stack, std::uint32_t permille) {
    for (std::uint32_t i = 0; i < stack.images; ++i) {
      for (std::size_t p = 0; p < pixels_; ++p) raw(stack, i)[p] = word_of(p, card_.random(1, 1000) <= permille);
    }
  }
  void post(const Stack& stack) {
    namespace words = registers::stacks;
    const std::uint32_t at = words::at(posted_ % words::kCount);
    card_.write(at + words::kRawPage, stack.raw_page);
    card_.write(at + words::kPhotonsPage, stack.photons_page);
    card_.write(at + words::kResultsPage, stack.results_page);
    card_.write(at + words::kImages, stack.images);
    card_.write(at + words::kListsPage, stack.lists_page);
    card_.write(registers::doorbells::kStacksPosted, ++posted_);
  }
  [[nodiscard]] std::uint32_t posted() const { return posted_; }
  std::uint32_t done() { return card_.read(registers::status::kStacksDone); }
  /// False when it takes longer than anything may.
  bool wait(std::uint32_t done_count) {
    for (int i = 0; i < 200'000; ++i) {
      if (done() == done_count) return true;
      for (int j = 0; j < 20; ++j) card_.cycle();
    }
    return false;
  }
  void check_stack(const Stack& stack) {
    for (std::uint32_t i = 0; i < stack.images; ++i) {
      std::uint32_t counts[3] = {};
      std::size_t wrong = 0, first = 0;
      const auto* const words = raw(stack, i);
      const auto* const photons =
          reinterpret_cast<const std::int16_t*>(at(stack.photons_page + std::uint64_t{i} * image_pages_));
      for (std::size_t p = 0; p < pixels_; ++p) {
        const unsigned code = words[p] >> 14;
        const Converted of = converted(words[p], entries_[p][code >= 2 ? 2 : code]);
        counts[0] += of.masked;
        counts[1] += of.saturated;
        counts[2] += !of.masked && of.photons >= bright_;
        if (photons[p] != of.photons && wrong++ == 0) first = p;
      }
      check(wrong == 0, "image %u of %u: %zu of %zu pixels are wrong, the first is %zu: %d", i, stack.images, wrong,
            pixels_, first, photons[first]);
      std::uint32_t record[16];
      std::memcpy(record, at(stack.results_page) + i * sizeof record, sizeof record);
      bool rest = true;
      for (std::size_t w = 5; w < 16; ++w) rest &= record[w] == 0;
      check(record[0] == counts[0] && record[1] == counts[1] && record[2] == counts[2] && rest,
            "image %u of %u: masked %u saturated %u bright %u, not %u %u %u", i, stack.images, record[0], record[1],
            record[2], counts[0], counts[1], counts[2]);
      check_list(stack, i, record[3], record[4]);
    }
  }
  /// Whether lists came out that had entries, and whether some had no room.
  std::uint64_t entries = 0, overflows = 0;
  Lists lists{};
  [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint32_t low_page() const { return low_page_; }

 private:
  static constexpr int kUntouched = 0x5A;
  static constexpr std::size_t kEntries = 16;  // of a beat

  /// The image's list by what README.md says of it, against its pixels.
  void check_list(const Stack& stack, std::uint32_t image, std::uint32_t listed, std::uint32_t beats) {
    if (!lists.on) {
      check(listed == 0 && beats == 0, "image %u: %u pixels and %u beats of a list that is not there", image, listed,
            beats);
      return;
    }
    const std::byte* const list = at(stack.lists_page + std::uint64_t{image} * lists.pages);
    const std::size_t room = lists.pages * kBorder / kBeatBytes;
    const auto* const words = raw(stack, image);
    std::uint32_t wanted = 0, beat = 0, in_beat = 0;
    bool good = true, all = true;
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      // A block goes in as a whole, and behind one that did not nothing does.
      const std::size_t first = block * kBlockPixels, last = std::min(first + kBlockPixels, pixels_);
      std::vector<std::pair<std::uint16_t, std::int16_t>> kept;
      for (std::size_t p = first; p < last; ++p) {
        const unsigned code = words[p] >> 14;
        const Converted of = converted(words[p], entries_[p][code >= 2 ? 2 : code]);
        if (of.masked || of.photons < lists.threshold) continue;
        kept.emplace_back(static_cast<std::uint16_t>(p - first), of.photons);
      }
      wanted += static_cast<std::uint32_t>(kept.size());
      const auto added = static_cast<std::uint32_t>((kept.size() + kEntries - 1) / kEntries);
      all &= beat + added <= room;
      for (std::size_t i = 0; all && i < kept.size(); ++i) {
        const std::byte* const at_beat = list + (beat + i / kEntries) * kBeatBytes;
        std::int16_t values[kEntries];
        std::uint16_t places[kEntries];
        std::memcpy(values, at_beat, sizeof values);
        std::memcpy(places, at_beat + sizeof values, sizeof places);
        in_beat = static_cast<std::uint32_t>(std::min(kept.size() - i / kEntries * kEntries, kEntries));
        good &= values[i % kEntries] == kept[i].second && (places[i % kEntries] & 0x7FF) == kept[i].first;
        good &= (places[0] >> 11U | (places[1] >> 11U) << 5U | (places[2] >> 11U) << 10U | (places[3] >> 11U) << 15U) ==
                static_cast<int>(block);
        good &= places[4] >> 11U == in_beat;
      }
      beat += added;
    }
    check(good, "image %u of %u: its list is wrong", image, stack.images);
    check(listed == wanted && beats == beat, "image %u of %u: %u pixels in %u beats, not %u in %u", image, stack.images,
          listed, beats, wanted, beat);
    for (std::size_t i = std::min<std::size_t>(beat, room) * kBeatBytes; all && i < lists.pages * kBorder; ++i) {
      if (list[i] == std::byte{kUntouched}) continue;
      check(false, "image %u of %u: something is written behind its list", image, stack.images);
      break;
    }
    if (image + 1 == stack.images) {
      check(list[lists.pages * kBorder] == std::byte{kUntouched}, "something is written behind the lists");
    }
    entries += listed;
    overflows += !all;
  }
  /// A word whose photons are above the threshold of lists, or not.
  std::uint16_t word_of(std::size_t pixel, bool above) {
    for (int tries = 0; tries < 200; ++tries) {
      const std::uint16_t tried = word();
      const unsigned code = tried >> 14;
      const Converted of = converted(tried, entries_[pixel][code >= 2 ? 2 : code]);
      if ((!of.masked && of.photons >= lists.threshold) == above) return tried;
    }
    return above ? 0xC000 : 0xFFFF;
  }
  std::byte* at(std::uint64_t page) { return card_.memory.data() + page * kBorder; }
  std::uint16_t* raw(const Stack& stack, std::uint32_t image) {
    return reinterpret_cast<std::uint16_t*>(at(stack.raw_page + std::uint64_t{image} * image_pages_));
  }
  std::uint32_t take(std::uint32_t pages) {
    const std::uint32_t page = next_page_;
    next_page_ += pages;
    if (next_page_ * kBorder > card_.memory.size()) std::abort();
    return page;
  }
  std::uint16_t word() {
    Random& random = card_.random;
    const std::uint32_t kind = random(0, 99);
    if (kind < 70) return static_cast<std::uint16_t>(random(0, 0x3FFF));
    if (kind < 94) return static_cast<std::uint16_t>(random.word());
    constexpr std::uint16_t kSpecial[] = {0xC000, 0xFFFF, 0x4000, 0x8000, 0x0000, 0x3FFF};
    return kSpecial[random(0, 5)];
  }
  void calibrate() {
    Random& random = card_.random;
    const auto real = [&](float low, float high) {
      return low + (high - low) * static_cast<float>(random.word()) * 0x1p-32F;
    };
    entries_.resize(pixels_);
    bright_ = static_cast<std::int16_t>(random(0, 400) - 100);
    for (std::size_t p = 0; p < std::size_t{blocks_} * kBlockPixels; ++p) {
      for (std::size_t gain = 0; gain < 3; ++gain) {
        Entry entry{real(0, 16383), gain == 0 ? real(0, 0.1F) : real(-2, 0)};
        if (random.chance(3)) entry.pedestal = std::bit_cast<float>(0x7FC00000);
        if (p < pixels_) entries_[p][gain] = entry;
        const std::size_t lane = p % kBeatPixels;
        std::byte* const block = at((lane < 16 ? low_page_ : high_page_) + kCalibrationPages * (p / kBlockPixels));
        const std::size_t beat = p % kBlockPixels / kBeatPixels;
        std::memcpy(block + ((gain * 64 + beat) * 16 + lane % 16) * sizeof entry, &entry, sizeof entry);
      }
    }
  }

  Card& card_;
  std::size_t pixels_;
  std::uint32_t blocks_ = 0, image_pages_ = 0, low_page_ = 0, high_page_ = 0, next_page_ = 1, posted_ = 0;
  std::int16_t bright_ = 0;
  std::vector<std::array<Entry, 3>> entries_;
};

}  // namespace rashpa::rtl
