// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model of the unit that stands between a card and the host's memory: addresses of the card to bytes that a driver
/// has mapped. It is stricter than hardware: its bounds are bytes, not pages.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace rashpa::sim {

/// Translates addresses of one card. One thread.
class Iommu {
 public:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::size_t kBeat = 64;

  /// Maps `memory` at `address`. Throws ConfigError when the address is no multiple of a page, the memory is empty, or
  /// another map overlaps.
  void map(std::uint64_t address, std::span<std::byte> memory);
  void unmap(std::uint64_t address) noexcept { maps_.erase(address); }

  /// Returns true when all bytes that `strobe` names of the beat at `address` are mapped. Else it counts a fault.
  bool may_write(std::uint64_t address, std::uint64_t strobe) noexcept;
  /// Writes these bytes of a beat that may_write() has allowed. Four bytes alone, such as a lock word, are written at
  /// once, behind all that was written before.
  void write(std::uint64_t address, std::span<const std::byte, kBeat> beat, std::uint64_t strobe) noexcept;

  [[nodiscard]] std::uint64_t faults() const noexcept { return faults_; }
  /// Returns the address of the first byte that was refused.
  [[nodiscard]] std::optional<std::uint64_t> first_fault() const noexcept { return first_fault_; }

 private:
  [[nodiscard]] std::byte* byte_at(std::uint64_t address) const noexcept;

  std::map<std::uint64_t, std::span<std::byte>> maps_;
  std::uint64_t faults_ = 0;
  std::optional<std::uint64_t> first_fault_{};
};

}  // namespace rashpa::sim
