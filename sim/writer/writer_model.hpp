// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The card that writes memory (rtl/writer_core), compiled by Verilator, with its own memory and the host's behind an
/// Iommu. Software pushes descriptors of one DTP.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "iommu.hpp"
#include "rashpa/card/registers.hpp"

namespace rashpa::sim {

/// An entry of the card's table of addresses: offsets begin … end go to `address` and on.
struct AddressEntry {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t address = 0;
};

/// A write, or the record that ends an image and its lock word.
struct WriterDescriptor {
  bool record = false;
  std::uint64_t source = 0;       ///< in card memory; of a record a multiple of 64
  std::uint64_t destination = 0;  ///< offset, as the table of addresses has it
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;
};

/// The error that ended a run.
struct WriterError {
  enum class Kind : std::uint8_t { outside, host };
  Kind kind = Kind::outside;
  std::uint32_t dtp = 0;      ///< position in the card's table
  std::uint64_t address = 0;  ///< outside: the offset; host: the address that the Iommu refused
};

/// The card, a cycle after the other. One thread.
class WriterModel {
 public:
  static constexpr std::size_t kEntries = 4;

  /// Makes a card with its memory in front of the host's. The Iommu outlives it.
  WriterModel(std::size_t memory_bytes, Iommu& iommu);
  ~WriterModel();
  WriterModel(const WriterModel&) = delete;
  WriterModel& operator=(const WriterModel&) = delete;

  [[nodiscard]] std::span<std::byte> memory() noexcept;
  /// Writes the tables of DTP 0, arms and starts.
  void start(const card::registers::DtpTable& table, std::span<const AddressEntry, kEntries> entries,
             std::uint64_t lock_offset);
  /// Takes a descriptor behind all others.
  void push(const WriterDescriptor& descriptor);
  /// Plays cycles until all that was pushed is answered by the host, or an error has ended the run.
  void run();
  [[nodiscard]] const std::optional<WriterError>& error() const noexcept;
  /// Returns the number of lock words that the host has.
  [[nodiscard]] std::uint64_t locks() const noexcept;
  [[nodiscard]] std::uint64_t cycles() const noexcept;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rashpa::sim
