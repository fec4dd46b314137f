// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/lost_lines.hpp"

#include <algorithm>
#include <cstring>

#include "rashpa/core/image/lost_value.hpp"

namespace rashpa::scheduler {

namespace {

template <typename T>
void fill_line(std::byte* line, std::uint32_t bytes, T value) noexcept {
  for (std::uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) std::memcpy(line + at, &value, sizeof(T));
}

template <typename T>
bool line_holds(const std::byte* line, std::uint32_t bytes, T value) noexcept {
  bool all = true;
  for (std::uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T found;  // NOLINT: filled in the next line
    std::memcpy(&found, line + at, sizeof(T));
    all = all && found == value;
  }
  return all;
}

}  // namespace

std::uint32_t list_lost_runs(const link::LineMap& map, std::uint32_t dtp, std::span<LostRun> out) noexcept {
  std::uint32_t runs = 0;
  bool inside_run = false;
  for (std::uint32_t line = 0; line < map.lines(); ++line) {
    const bool lost = !map.line_arrived(line);
    if (lost && !inside_run && runs < out.size()) out[runs++] = {dtp, line, 0};
    if (lost && runs > 0) ++out[runs - 1].lines;
    inside_run = lost;
  }
  return runs;
}

void fill_lost(std::byte* slot, const Placement& placement, PixelType type, const LostRun& run) noexcept {
  const std::uint32_t bits = lost_bits(type);
  for (std::uint32_t line = run.first_line; line < run.first_line + run.lines; ++line) {
    std::byte* at = slot + placement.first_line_offset + line * placement.pitch;
    switch (pixel_bytes(type)) {
      case 1:
        fill_line(at, placement.line_bytes, static_cast<std::uint8_t>(bits));
        break;
      case 2:
        fill_line(at, placement.line_bytes, static_cast<std::uint16_t>(bits));
        break;
      default:
        fill_line(at, placement.line_bytes, bits);
    }
  }
}

bool holds_lost(const std::byte* slot, const Placement& placement, PixelType type, const LostRun& run) noexcept {
  const std::uint32_t bits = lost_bits(type);
  bool all = true;
  for (std::uint32_t line = run.first_line; line < run.first_line + run.lines && all; ++line) {
    const std::byte* at = slot + placement.first_line_offset + line * placement.pitch;
    switch (pixel_bytes(type)) {
      case 1:
        all = line_holds(at, placement.line_bytes, static_cast<std::uint8_t>(bits));
        break;
      case 2:
        all = line_holds(at, placement.line_bytes, static_cast<std::uint16_t>(bits));
        break;
      default:
        all = line_holds(at, placement.line_bytes, bits);
    }
  }
  return all;
}

}  // namespace rashpa::scheduler
