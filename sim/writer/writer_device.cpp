// SPDX-License-Identifier: Apache-2.0
#include "writer_device.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rashpa/core/log.hpp"

namespace rashpa::sim {

namespace {

constexpr std::size_t kMemory = 1U << 20U;           // of the card
constexpr std::uint32_t kLongest = 64U << 10U;       // bytes of a descriptor
constexpr std::uint64_t kRegionAt = 0x40'0000'0000;  // addresses of the card
constexpr std::uint64_t kControlAt = 0x7F'0000'0000;
constexpr std::uint64_t kLockOffset = 1ULL << 60U;  // behind every offset of the region

}  // namespace

WriterDevice::WriterDevice(WriterPlace place) : place_(std::move(place)), card_(kMemory, iommu_) {
  const std::span<std::byte> region = place_.memory->region();
  const std::span<std::byte> control = place_.memory->control();
  iommu_.map(kRegionAt, region.first(std::min<std::uint64_t>(region.size(), place_.mapped)));
  iommu_.map(kControlAt, control);
  const auto* const word = reinterpret_cast<const std::byte*>(&place_.memory->dtp(place_.dtp).lock);
  const auto lock_at = static_cast<std::uint64_t>(word - control.data());
  card::registers::DtpTable table;
  table.mtu_path_mtu = 4096;
  table.mtu_first_middle_last = true;
  table.dtp_id = place_.id;
  table.dtp_enabled = true;
  table.dtp_paced = true;  // credits are the sender's
  const std::array<AddressEntry, WriterModel::kEntries> entries{
      AddressEntry{0, std::min<std::uint64_t>(region.size(), place_.allowed), kRegionAt},
      AddressEntry{kLockOffset, kLockOffset + sizeof(std::uint32_t), kControlAt + lock_at}, AddressEntry{},
      AddressEntry{}};
  card_.start(table, entries, kLockOffset);
  thread_ = std::thread([this] { play(); });
}

WriterDevice::~WriterDevice() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  told_.notify_one();
  thread_.join();
}

bool WriterDevice::tell(const Order& order) noexcept {
  if (!sound()) return false;
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(order);
  }
  told_.notify_one();
  return true;
}

bool WriterDevice::copy(const link::pcie::Rectangle& rectangle) noexcept { return tell(rectangle); }

bool WriterDevice::mark(std::uint64_t number, const link::Event* event, std::atomic<std::uint32_t>* /*lock*/) noexcept {
  Mark mark{.number = number, .event = event != nullptr};
  if (event != nullptr) {
    mark.destination = event->destination;
    mark.immediate = event->immediate;
    std::memcpy(mark.record.data(), event->record, FrameRecord::kBytes);
  }
  return tell(mark);
}

// What was told is played to its end before the card ends.
void WriterDevice::play() {
  while (true) {
    Order order;
    {
      std::unique_lock lock(mutex_);
      told_.wait(lock, [this] { return ends_ || !orders_.empty(); });
      if (orders_.empty()) return;
      order = orders_.front();
      orders_.pop_front();
    }
    if (!sound()) continue;
    if (const auto* rectangle = std::get_if<link::pcie::Rectangle>(&order)) {
      write(*rectangle);
    } else {
      end(std::get<Mark>(order));
    }
  }
}

// Lines lie in card memory as they lie in the source: at any byte of a beat.
std::uint64_t WriterDevice::place_for(std::uint32_t bytes, std::uint32_t lead) {
  std::uint64_t at = (free_ + Iommu::kBeat - 1) / Iommu::kBeat * Iommu::kBeat + lead;
  if (at + bytes > card_.memory().size()) {
    run();
    at = lead;
  }
  free_ = at + bytes;
  return at;
}

void WriterDevice::write(const link::pcie::Rectangle& rectangle) {
  for (std::uint32_t row = 0; row < rectangle.rows; ++row) {
    const std::byte* const from = rectangle.source + row * rectangle.source_stride;
    const std::uint64_t to = rectangle.destination + row * rectangle.destination_stride;
    for (std::uint32_t done = 0; done < rectangle.width; done += kLongest) {
      const std::uint32_t bytes = std::min(kLongest, rectangle.width - done);
      const auto lead = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from + done) % Iommu::kBeat);
      const std::uint64_t at = place_for(bytes, lead);
      if (!sound()) return;
      std::memcpy(card_.memory().data() + at, from + done, bytes);
      card_.push({.source = at, .destination = to + done, .bytes = bytes});
    }
  }
}

void WriterDevice::end(const Mark& mark) {
  if (mark.event) {
    const std::uint64_t at = place_for(FrameRecord::kBytes, 0);
    if (!sound()) return;
    std::memcpy(card_.memory().data() + at, mark.record.data(), FrameRecord::kBytes);
    card_.push({.record = true,
                .source = at,
                .destination = mark.destination,
                .bytes = FrameRecord::kBytes,
                .immediate = mark.immediate});
  }
  run();
  if (sound()) reached_.store(mark.number, std::memory_order_release);
}

void WriterDevice::run() {
  card_.run();
  free_ = 0;
  if (!card_.error() || !sound()) return;
  const WriterError& error = *card_.error();
  if (error.kind == WriterError::Kind::outside) {
    log::write(log::Level::error, {.dtp = place_.id},
               "card: a write to offset {:#x} lies outside of the card's table of addresses; the run ends",
               error.address);
  } else {
    log::write(log::Level::error, {.dtp = place_.id},
               "card: the host has refused a write to address {:#x}, which nothing maps; the run ends", error.address);
  }
  failed_.store(true, std::memory_order_release);
}

}  // namespace rashpa::sim
