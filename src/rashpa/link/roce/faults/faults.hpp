// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Packet faults of one DTP, injected by its sender, and the log of the results that the receiver must find.
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/core/books/completeness_table.hpp"
#include "rashpa/core/books/page_array.hpp"
#include "rashpa/core/numbers/random_words.hpp"
#include "rashpa/link/faults.hpp"

namespace rashpa::link::roce {

enum class Fault : std::uint8_t { none, drop, duplicate, reorder, corrupt };

/// Draws the fault of each packet from a hash of the packet's number. The hash is our own, so that a seed means the
/// same on all machines, and the faults of DTPs are independent.
class FaultDice {
 public:
  FaultDice(const FaultConfig& config, std::uint32_t dtp);
  /// Draws the fault of the next packet.
  [[nodiscard]] Fault draw() noexcept;
  /// Returns a number in 0 … bound−1, which decides the details of that packet's fault.
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept;

 private:
  RandomWords faults_;
  RandomWords choices_;
  std::uint64_t packets_ = 0;
  std::uint64_t choice_ = 0;  // of the packet
  std::uint64_t limit_[4];    // cumulated thresholds on 63-bit draws
};

/// Predicts the completeness of each image from the packets that really leave, by its own model of the responder's
/// rules. It shares no code with the receiver, so an error in either shows as a difference of their books. Only the
/// DTP's thread writes it.
class FateLog final : public Fates {
 public:
  FateLog(std::uint64_t images, std::uint64_t packets_per_image);

  /// Records that a line packet, number `ordinal` of the present image, leaves intact. `first`: opcode FIRST or ONLY;
  /// `last`: LAST or ONLY.
  void line_arrives(std::uint32_t psn, std::uint64_t ordinal, bool first, bool last) noexcept;
  /// Records that one of the arriving line packets of the image is corrupt, and that only the image's CRC32C can find
  /// it.
  void spoil() noexcept { spoilt_ = true; }
  /// Ends the lines of image `index`: all its `packets` packets have left or are lost, and its event comes next.
  void lines_end(std::uint64_t index, std::uint64_t packets) noexcept;
  /// Records that an event leaves intact: that of the last lines_end(), or of the image before.
  void event_arrives(std::uint32_t psn, std::uint64_t index) noexcept;

  /// Records that the image is complete, whatever its packets' faults.
  void complete(std::uint64_t index) noexcept { fates_.set(index, Completeness::complete); }

  [[nodiscard]] std::uint64_t images() const noexcept override { return fates_.images(); }
  [[nodiscard]] Completeness fate(std::uint64_t index) const noexcept override { return fates_.get(index); }

 private:
  bool accept(std::uint32_t psn, bool first, bool last) noexcept;
  CompletenessTable fates_;
  PageArray<std::uint8_t> lines_ok_;    // 1: all lines of this image have come, judged at lines_end
  std::vector<std::uint64_t> arrived_;  // bit per line packet of the image being sent
  std::uint64_t arrived_count_ = 0;
  bool spoilt_ = false;           // the image being sent
  std::uint64_t next_index_ = 0;  // images below have a fate or had their chance
  std::uint32_t expected_psn_ = 0;
  bool open_ = false;
};

}  // namespace rashpa::link::roce
