// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Packet faults of one DTP, made in its sender, and the log that says what the receiver must find.
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

/// Draws the fault of each packet, by the packet's number: a hash of our own, so that a seed means the same everywhere,
/// and no DTP's faults tell anything of another's.
class FaultDice {
 public:
  FaultDice(const FaultConfig& config, std::uint32_t dtp);
  /// Draws the fault of the next packet.
  [[nodiscard]] Fault draw() noexcept;
  /// 0 … bound−1, for how that packet's fault turns out.
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept;

 private:
  RandomWords faults_;
  RandomWords choices_;
  std::uint64_t packets_ = 0;
  std::uint64_t choice_ = 0;  // of the packet
  std::uint64_t limit_[4];    // cumulated thresholds on 63-bit draws
};

/// Predicts the fate of each image from the packets that really leave, with its own model of the responder's rules. It
/// shares no code with the receiver: a mistake in one of them shows as a difference of their books. Written by the
/// DTP's thread alone.
class FateLog final : public Fates {
 public:
  FateLog(std::uint64_t images, std::uint64_t packets_per_image);

  /// A line packet, number `ordinal` of the image being sent, reaches the wire intact. `first`: opcode FIRST or ONLY;
  /// `last`: LAST or ONLY.
  void line_arrives(std::uint32_t psn, std::uint64_t ordinal, bool first, bool last) noexcept;
  /// One of the image's line packets that arrived holds wrong bytes, and nothing finds it before the image's CRC32C.
  void spoil() noexcept { spoilt_ = true; }
  /// Ends the lines of image `index`: its `packets` packets have left or are lost, and its event comes next.
  void lines_end(std::uint64_t index, std::uint64_t packets) noexcept;
  /// The event of the image named to lines_end() or of the one before reaches the wire intact.
  void event_arrives(std::uint32_t psn, std::uint64_t index) noexcept;

  /// The image arrives whatever became of its packets.
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
