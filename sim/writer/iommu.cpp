// SPDX-License-Identifier: Apache-2.0
#include "iommu.hpp"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <iterator>

#include "rashpa/core/error.hpp"

namespace rashpa::sim {

void Iommu::map(std::uint64_t address, std::span<std::byte> memory) {
  const auto next = maps_.lower_bound(address);
  const bool before = next != maps_.begin() && address - std::prev(next)->first < std::prev(next)->second.size();
  const bool behind = next != maps_.end() && next->first - address < memory.size();
  if (address % kPage != 0 || memory.empty() || before || behind) {
    throw ConfigError(
        fmt::format("iommu: {} bytes at {:#x}; map memory at a multiple of {}, where nothing else is mapped",
                    memory.size(), address, kPage));
  }
  maps_[address] = memory;
}

std::byte* Iommu::byte_at(std::uint64_t address) const noexcept {
  const auto next = maps_.upper_bound(address);
  if (next == maps_.begin()) return nullptr;
  const auto& [begin, memory] = *std::prev(next);
  return address - begin < memory.size() ? memory.data() + (address - begin) : nullptr;
}

bool Iommu::may_write(std::uint64_t address, std::uint64_t strobe) noexcept {
  for (std::uint64_t left = strobe; left != 0; left &= left - 1) {
    const std::uint64_t at = address + static_cast<std::uint64_t>(std::countr_zero(left));
    if (byte_at(at) != nullptr) continue;
    ++faults_;
    if (!first_fault_) first_fault_ = at;
    return false;
  }
  return true;
}

void Iommu::write(std::uint64_t address, std::span<const std::byte, kBeat> beat, std::uint64_t strobe) noexcept {
  if (strobe == 0) return;
  const auto first = static_cast<std::size_t>(std::countr_zero(strobe));
  std::byte* const to = byte_at(address + first);
  if (strobe >> first == 0xF && reinterpret_cast<std::uintptr_t>(to) % sizeof(std::uint32_t) == 0) {
    std::uint32_t word = 0;
    std::memcpy(&word, beat.data() + first, sizeof word);
    // As CpuEngine does: the receiver's thread looks at it, and has all before it.
    std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(to)).store(word, std::memory_order_seq_cst);
    return;
  }
  for (std::uint64_t left = strobe; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    *byte_at(address + lane) = beat[lane];
  }
}

}  // namespace rashpa::sim
