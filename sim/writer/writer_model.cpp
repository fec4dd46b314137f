// SPDX-License-Identifier: Apache-2.0
#include "writer_model.hpp"

#include <verilated.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "Vwriter_core.h"

namespace rashpa::sim {

namespace {

constexpr std::uint64_t kReadLatency = 30, kWriteLatency = 60;  // cycles
constexpr std::size_t kBeat = Iommu::kBeat;
constexpr std::uint32_t kEntryWords = 6, kLockWord = 24;

struct Read {
  std::uint64_t address, due;
  std::uint32_t beats;
};
struct Beat {
  std::array<std::byte, kBeat> data;
  std::uint64_t strobe;
};
struct Burst {
  std::uint64_t address, due;
  std::uint32_t beats;
  std::vector<Beat> data;
};

// rtl/package/rashpa_pkg.sv: table_write_t, descriptor_t
constexpr std::uint64_t table_write(std::uint32_t word, std::uint32_t data) {
  return 1ULL << 43 | std::uint64_t{word} << 32 | data;
}
void put(VlWide<10>& words, unsigned from, unsigned bits, std::uint64_t value) {
  for (unsigned b = 0; b < bits; ++b) {
    const unsigned at = from + b;
    words[at / 32] = (words[at / 32] & ~(1U << at % 32)) | static_cast<std::uint32_t>(value >> b & 1U) << at % 32;
  }
}

}  // namespace

class WriterModel::Parts {
 public:
  Parts(std::size_t bytes, Iommu& iommu) : memory((bytes + 4095) / 4096 * 4096), iommu_(&iommu) {
    card_.abort_i = card_.start_i = card_.arm_i = 0;
    card_.pushed_mode_i = 1;
    card_.pushed_valid_i = 0;
    card_.may_go_i = 0xFFFF;
    card_.table_i = card_.addresses_i = 0;
    card_.m_axi_arready = card_.m_axi_awready = card_.m_axi_wready = 1;
    card_.m_axi_rvalid = card_.m_axi_bvalid = 0;
    card_.rst_ni = 0;
    for (int i = 0; i < 4; ++i) edge();
    card_.rst_ni = 1;
  }
  ~Parts() { card_.final(); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  void start(const card::registers::DtpTable& table, std::span<const AddressEntry, kEntries> entries,
             std::uint64_t lock) {
    card_.arm_i = 1;
    edge();
    card_.arm_i = 0;
    std::uint32_t word = 0;
    for (const std::uint32_t data : words_of(table)) {
      card_.table_i = table_write(word++, data);
      edge();
    }
    card_.table_i = 0;
    word = 0;
    for (const AddressEntry& entry : entries) {
      for (const std::uint64_t value : {entry.begin, entry.end, entry.address - entry.begin}) write64(word, value);
    }
    static_assert(kEntryWords * kEntries == kLockWord);
    write64(word, lock);
    card_.start_i = 1;
    edge();
    card_.start_i = 0;
  }

  void run() {
    while (!error && !(pushed.empty() && card_.pushed_valid_i == 0 && rests())) cycle();
    if (!error) return;
    pushed.clear();
    card_.pushed_valid_i = 0;
    card_.abort_i = 1;
    for (int quiet = 0; quiet < 8; quiet = card_.idle_o != 0 ? quiet + 1 : 0) cycle();
    card_.abort_i = 0;
  }

  std::vector<std::byte> memory;
  std::deque<WriterDescriptor> pushed;
  std::optional<WriterError> error{};
  std::uint64_t locks = 0, cycles = 0;

 private:
  void edge() {
    card_.clk_i = 1;
    card_.eval();
    card_.clk_i = 0;
    card_.eval();
    ++cycles;
  }
  void write64(std::uint32_t& word, std::uint64_t value) {
    for (int half = 0; half < 2; ++half) {
      card_.addresses_i = table_write(word++, static_cast<std::uint32_t>(value >> (32 * half)));
      edge();
    }
    card_.addresses_i = 0;
  }
  // Nothing on its way, for as long as a descriptor may hide between two blocks.
  bool rests() {
    card_.eval();
    rest_ = card_.idle_o != 0 && bursts_.empty() ? rest_ + 1 : 0;
    return rest_ > 8;
  }

  void offer() {
    if (card_.pushed_valid_i != 0 || pushed.empty()) return;
    const WriterDescriptor next = pushed.front();
    pushed.pop_front();
    auto& to = card_.pushed_i;
    for (int i = 0; i < 10; ++i) to[i] = 0;
    put(to, 128, 32, next.immediate);
    put(to, 160, 32, next.bytes);
    put(to, 192, 64, next.destination);
    put(to, 256, 48, next.source);
    put(to, 307, 1, next.record ? 1 : 0);
    card_.pushed_valid_i = 1;
  }

  void cycle() {
    offer();
    show();
    card_.eval();
    take_reads();
    take_writes();
    look_at_errors();
    const bool taken = card_.pushed_valid_i != 0 && card_.pushed_ready_o != 0;
    edge();
    if (taken) card_.pushed_valid_i = 0;
  }

  void show() {
    const bool reads = !reads_.empty() && reads_.front().due <= cycles;
    card_.m_axi_rvalid = reads;
    card_.m_axi_rresp = 0;
    card_.m_axi_rlast = reads && reads_.front().beats == 1;
    if (reads) {
      const std::uint64_t at = reads_.front().address;
      card_.m_axi_rresp = at + kBeat <= memory.size() ? 0 : 2;
      if (at + kBeat <= memory.size()) std::memcpy(card_.m_axi_rdata.data(), memory.data() + at, kBeat);
    }
    const bool answers =
        !bursts_.empty() && bursts_.front().data.size() == bursts_.front().beats && bursts_.front().due <= cycles;
    card_.m_axi_bvalid = answers;
    card_.m_axi_bresp = answers && !written(bursts_.front()) ? 2 : 0;
    if (answers) bursts_.pop_front();
  }
  // A burst lies in one page: all of it is written, or nothing.
  bool written(const Burst& burst) {
    for (std::uint32_t b = 0; b < burst.beats; ++b) {
      if (!iommu_->may_write(burst.address + b * kBeat, burst.data[b].strobe)) return false;
    }
    for (std::uint32_t b = 0; b < burst.beats; ++b) {
      iommu_->write(burst.address + b * kBeat, burst.data[b].data, burst.data[b].strobe);
    }
    return true;
  }

  void take_reads() {
    if (card_.m_axi_rvalid != 0) {
      reads_.front().address += kBeat;
      if (--reads_.front().beats == 0) reads_.pop_front();
    }
    if (card_.m_axi_arvalid != 0) reads_.push_back({card_.m_axi_araddr, cycles + kReadLatency, card_.m_axi_arlen + 1U});
  }
  void take_writes() {
    if (card_.m_axi_awvalid != 0) {
      bursts_.push_back({card_.m_axi_awaddr, 0, card_.m_axi_awlen + 1U, {}});
    }
    if (card_.m_axi_wvalid != 0) {
      Beat beat{.data = {}, .strobe = card_.m_axi_wstrb};
      std::memcpy(beat.data.data(), card_.m_axi_wdata.data(), kBeat);
      beats_.push_back(beat);
    }
    while (!beats_.empty()) {
      const auto open =
          std::ranges::find_if(bursts_, [](const Burst& burst) { return burst.data.size() < burst.beats; });
      if (open == bursts_.end()) break;
      open->data.push_back(beats_.front());
      open->due = cycles + kWriteLatency;
      beats_.pop_front();
    }
    locks += card_.locks_o;
  }
  void look_at_errors() {
    if (error) return;
    if (card_.outside_o != 0) {
      error = {WriterError::Kind::outside, card_.outside_dtp_o, card_.outside_offset_o};
    } else if (card_.write_error_o != 0) {
      error = {WriterError::Kind::host, card_.write_error_dtp_o, iommu_->first_fault().value_or(0)};
    }
  }

  Iommu* iommu_;
  VerilatedContext context_;
  Vwriter_core card_{&context_};
  std::deque<Read> reads_;
  std::deque<Burst> bursts_;
  std::deque<Beat> beats_;
  int rest_ = 0;
};

WriterModel::WriterModel(std::size_t memory_bytes, Iommu& iommu)
    : parts_(std::make_unique<Parts>(memory_bytes, iommu)) {}
WriterModel::~WriterModel() = default;
std::span<std::byte> WriterModel::memory() noexcept { return parts_->memory; }
void WriterModel::start(const card::registers::DtpTable& table, std::span<const AddressEntry, kEntries> entries,
                        std::uint64_t lock_offset) {
  parts_->start(table, entries, lock_offset);
}
void WriterModel::push(const WriterDescriptor& descriptor) { parts_->pushed.push_back(descriptor); }
void WriterModel::run() { parts_->run(); }
const std::optional<WriterError>& WriterModel::error() const noexcept { return parts_->error; }
std::uint64_t WriterModel::locks() const noexcept { return parts_->locks; }
std::uint64_t WriterModel::cycles() const noexcept { return parts_->cycles; }

}  // namespace rashpa::sim
