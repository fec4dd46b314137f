// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace rashpa::link {

/// The unit of a line map, in bytes.
struct MapUnit {
  MapUnit(std::uint32_t unit, std::uint32_t least) : bytes(unit), finest(least) {}
  MapUnit(std::uint32_t unit) : MapUnit(unit, unit) {}  // NOLINT: one unit, whatever comes
  /// The unit of the link's own senders; it divides a line.
  std::uint32_t bytes;
  /// The finest unit, which divides `bytes`. The map changes to it at the first packet of a foreign sender that does
  /// not keep to `bytes`.
  std::uint32_t finest;
};

/// The arrived units of one DTP's image. A unit is `unit_bytes` bytes of the payload, counted over the lines in order
/// without the gaps between them; a line has a whole number of units. One writer thread; no allocation after
/// construction.
class LineMap {
 public:
  LineMap() = default;
  /// Takes the memory. `most_per_line`, a multiple of `units_per_line`, is the finest map that refine() may make; 0:
  /// none.
  LineMap(std::uint32_t lines, std::uint32_t units_per_line, std::uint32_t most_per_line = 0)
      : words_(words_of(std::uint64_t{lines} * std::max(units_per_line, most_per_line)), 0), lines_(lines) {
    set_units(units_per_line);
  }

  /// Clears the map; from now on a line has `units_per_line` units, at most those of the constructor.
  void clear(std::uint32_t units_per_line) noexcept {
    set_units(units_per_line);
    for (std::uint64_t i = 0; i < words_of(units_); ++i) words_[i] = 0;
    arrived_ = 0;
  }
  /// Divides each unit into `parts` units with its state.
  void refine(std::uint32_t parts) noexcept {
    const std::uint64_t before = units_;
    set_units(per_line_ * parts);
    for (std::uint64_t i = words_of(before); i < words_of(units_); ++i) words_[i] = 0;
    arrived_ = 0;
    for (std::uint64_t unit = before; unit-- > 0;) {  // from the last: a unit's parts lie behind all units before it
      const bool there = unit_arrived(unit);
      words_[unit / 64] &= ~(1ULL << (unit % 64));
      if (there) set(unit * parts, parts);
    }
  }
  /// Marks units first … first+count−1 (which must lie inside) as arrived; returns the number of new ones.
  std::uint64_t set(std::uint64_t first, std::uint64_t count) noexcept {
    std::uint64_t fresh = 0;
    while (count > 0) {
      const std::uint64_t bit = first % 64;
      const std::uint64_t n = count < 64 - bit ? count : 64 - bit;
      const std::uint64_t mask = (n == 64 ? ~0ULL : ((1ULL << n) - 1)) << bit;
      std::uint64_t& word = words_[first / 64];
      fresh += static_cast<std::uint64_t>(std::popcount(mask & ~word));
      word |= mask;
      first += n;
      count -= n;
    }
    arrived_ += fresh;
    return fresh;
  }
  [[nodiscard]] bool full() const noexcept { return arrived_ == units_; }
  [[nodiscard]] std::uint64_t arrived() const noexcept { return arrived_; }
  [[nodiscard]] std::uint64_t units() const noexcept { return units_; }
  [[nodiscard]] std::uint32_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint32_t units_per_line() const noexcept { return per_line_; }
  [[nodiscard]] bool unit_arrived(std::uint64_t unit) const noexcept {
    return (words_[unit / 64] >> (unit % 64) & 1U) != 0;
  }
  /// Returns true when all units of the line have arrived.
  [[nodiscard]] bool line_arrived(std::uint32_t line) const noexcept {
    const std::uint64_t first = static_cast<std::uint64_t>(line) * per_line_;
    for (std::uint64_t unit = first; unit < first + per_line_; ++unit) {
      if (!unit_arrived(unit)) return false;
    }
    return true;
  }
  /// Returns the number of lines with a missing unit.
  [[nodiscard]] std::uint32_t lines_missing() const noexcept {
    if (full()) return 0;
    std::uint32_t missing = 0;
    for (std::uint32_t line = 0; line < lines_; ++line) missing += line_arrived(line) ? 0U : 1U;
    return missing;
  }

 private:
  static constexpr std::uint64_t words_of(std::uint64_t units) noexcept { return (units + 63) / 64; }
  void set_units(std::uint32_t per_line) noexcept {
    per_line_ = per_line;
    units_ = std::uint64_t{lines_} * per_line;
  }
  std::vector<std::uint64_t> words_;
  std::uint64_t units_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint32_t lines_ = 0;
  std::uint32_t per_line_ = 1;
};

}  // namespace rashpa::link
